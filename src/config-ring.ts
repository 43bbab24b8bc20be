/**
 * `channels.realtime.ring`: who is rung up when the agent has something to say and they are not on the line.
 *
 * @module
 */

import { z } from 'zod';

/** E.164, which no emergency number is. */
const number = z.string().regex(/^\+[1-9]\d{6,14}$/, 'a number such as +15550100');

export const ringSchema = z
  .strictObject({
    /** Chats whose messages ring a number; whoever answers it hears them. */
    people: z
      .array(z.strictObject({ chatId: z.string().min(1).max(200), number }))
      .max(100)
      .default([]),
    /** The number that rings them: one of the carrier account's own. */
    from: number.optional(),
    /** Calls to one person in an hour; what comes beyond it is not said. */
    maxPerHour: z.int().min(1).max(60).default(4),
    /** How long it rings, in seconds. */
    timeoutS: z.int().min(5).max(120).default(30),
  })
  .prefault({});

export type RingConfig = z.output<typeof ringSchema>;
