// Elsewhere: each frame was waited for with a race against a promise that never settled, which keeps every frame alive:
// half a gigabyte an hour and stream. The hour itself, with its heap, is in test/soak.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** Where a race is fine, because both sides settle and neither is asked for once a frame. */
const MAY_RACE: readonly string[] = [];

function files(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : path.endsWith('.ts') ? [path] : [];
  });
}

const sources = files(SRC).map((file) => ({ name: relative(SRC, file), text: readFileSync(file, 'utf8') }));
const using = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name);

describe('bug 70: what is made for every frame', () => {
  it('is never a race of promises', () => {
    expect(using(/Promise\.(race|any)\(/).filter((name) => !MAY_RACE.includes(name))).toEqual([]);
  });

  it('is never a timer of its own: timers are the clock’s, and frames share one', () => {
    const timers = using(/\b(setTimeout|setInterval)\((?!\s*\))/).filter((name) => {
      const text = sources.find((each) => each.name === name)!.text;
      return /(?<![.\w])(setTimeout|setInterval)\(/.test(text.replaceAll(/setTimeout\(callback: /g, ''));
    });
    expect(timers.filter((name) => name !== 'clock.ts')).toEqual([]);
  });
});
