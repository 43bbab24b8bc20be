// Elsewhere: an error that named our request never reached it, and whoever waited for the response waited for ever; the
// first fix then let a stale error end a newer request.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { editing, errorEvent, hangUp, heardMs, placeCall } from './line.ts';

const keys = (text: string) => (text.includes('"response.create"') ? JSON.parse(text).event_id : null);

describe('bug 19: a request that the model refuses by name', () => {
  it('is over at once: the next request goes out in the same tick', async () => {
    const created: { id: string; at: number }[] = [];
    let now = () => 0;
    const line = await placeCall({
      modelWire: editing({
        toModel: (text, reply) => {
          const id = keys(text);
          if (id === null) return text;
          created.push({ id, at: now() });
          if (created.length > 1) return text;
          reply(errorEvent('invalid_value', id));
          return null;
        },
      }),
      turns: () => [say('An answer.', { durationMs: 1000 })],
    });
    const { carrier, clock } = line;
    now = () => clock.now();
    // Two entries in one breath: two wishes, one of which the model refuses.
    for (const key of '1#') carrier.dtmf(key);
    await clock.advance(20);
    for (const key of '2#') carrier.dtmf(key);
    await clock.advance(4000);

    expect(created.length).toBeGreaterThanOrEqual(2);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(980);
    await hangUp(line);
  });

  it('is not touched by an error about an older request, or about something else', async () => {
    let first: string | null = null;
    let held: (() => void) | null = null;
    const line = await placeCall({
      modelWire: editing({
        toModel: (text, reply) => {
          const id = keys(text);
          if (id === null) return text;
          if (first === null) {
            first = id;
            return text;
          }
          held = () => {
            reply(errorEvent('invalid_value', first));
            reply(errorEvent('invalid_value', 'client_999'));
            reply(errorEvent('invalid_value'));
          };
          return text;
        },
      }),
      turns: () => [say('An answer.', { durationMs: 1000 })],
      model: { timing: { firstOutputMs: 400 } },
    });
    const { carrier, clock, fake } = line;
    for (const key of '1#') carrier.dtmf(key);
    await clock.advance(3000);
    const from = carrier.nowMs;
    for (const key of '2#') carrier.dtmf(key);
    await clock.waitFor('the second request', () => held !== null);
    held!();
    await clock.advance(3000);

    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(980);
    expect(fake.session.receivedOf('response.create')).toHaveLength(2);
    const { counters } = await hangUp(line);
    expect(counters.responses_dropped ?? 0).toBe(0);
  });
});
