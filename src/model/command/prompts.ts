/**
 * What the offline model says, per locale: `assets/locales/<locale>/prompts.json`.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { VoiceError } from '../../errors.ts';

const text = z.string().min(1).max(2000);

const promptsSchema = z.strictObject({
  greeting: text,
  goodbye: text,
  okay: text,
  /** Nothing of what can be said was heard; `{examples}`. */
  unknown: text,
  /** The same, a second time in a row. */
  unknownAgain: text,
  /** `{examples}` */
  help: text,
  /** A long answer about itself; long enough to be talked over. `{examples}` */
  about: text,
  nothingToRepeat: text,
  /** Asked to speak while a tool still runs. */
  working: text,
  /** After an interruption of the line. */
  resume: text,
  toolOutside: text,
  toolRefused: text,
  toolNotFound: text,
  toolTimedOut: text,
  toolCancelled: text,
  toolFailed: text,
  toolDone: text,
  /** The tool waits for a person's approval elsewhere. */
  approvalStaged: text,
  empty: text,
  /** `{list}` */
  listOne: text,
  /** `{count}`, `{list}` */
  listMany: text,
  /** `{count}` entries are not named. */
  listMore: text,
  and: text,
  /** The text goes on, but is long. */
  more: text,
  folder: text,
  /** A web address, which nobody wants read out. */
  link: text,
  yes: text,
  no: text,
  /** `{weekday}`, `{date}`, `{time}` */
  time: text,
  /** Words of a file name: the dot, each digit, extensions that are not spelled. */
  names: z.strictObject({
    dot: text,
    digits: z.array(text).length(10),
    extensions: z.record(z.string(), text),
  }),
});

export type CommandPrompts = z.output<typeof promptsSchema>;

/** @throws VoiceError `CONFIG_INVALID` when the locale does not ship */
export function loadCommandPrompts(locale: string): CommandPrompts {
  const file = new URL(`../../../assets/locales/${locale}/prompts.json`, import.meta.url);
  let raw: string;
  try {
    raw = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new VoiceError('CONFIG_INVALID', `There is no offline model for the locale “${locale}”.`, {
      cause,
    });
  }
  return promptsSchema.parse(JSON.parse(raw));
}

/** Puts values where `{name}` stands. */
export function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
