import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ENTRY_PAUSE_MS } from '../../src/call/dtmf.ts';
import { MAX_RESUMPTIONS } from '../../src/call/false-alarms.ts';
import { FILLER_EVERY_MS, PROGRESS_EVERY_MS } from '../../src/call/fillers.ts';
import { GOODBYE_START_MS, MAX_GOODBYE_MS } from '../../src/call/hangup.ts';
import { MAX_MEMORY_CHARS, MAX_MEMORY_ITEMS } from '../../src/call/memory.ts';
import { RECONNECT_DELAYS_MS, ROLLOVER_MARGIN_MS } from '../../src/call/model-link.ts';
import { MARK_EVERY_MS, MAX_REST_MS, REST_OVERLAP_MS } from '../../src/call/output.ts';
import { MARK_GRACE_MS } from '../../src/call/playback.ts';
import { REQUEST_TIMEOUT_MS } from '../../src/call/responses.ts';
import { ITEM_PAUSE_MS } from '../../src/call/stream-items.ts';
import { realtimeConfigSchema } from '../../src/config.ts';

const page = readFileSync(new URL('../../docs/reference/conversation.md', import.meta.url), 'utf8');
const flat = page.replace(/\s+/g, ' ');
const rows = [...page.matchAll(/^\| `([a-z]+\.[A-Za-z]+)` +\| (\S+) +\|/gm)];
const config: unknown = realtimeConfigSchema.parse({});

describe('docs/reference/conversation.md', () => {
  it.each(rows.map(([, key, shown]) => [key!, shown!]))('gives the default of %s', (key, shown) => {
    const value = key
      .split('.')
      .reduce((section, name) => (section as Record<string, unknown>)[name], config);

    expect(shown.replaceAll('`', '')).toBe(JSON.stringify(value));
  });

  it('has the rows of every policy of interruptions', () => {
    const keys = Object.keys(realtimeConfigSchema.parse({}).interruption);

    expect(rows.map(([, key]) => key)).toEqual(
      expect.arrayContaining(keys.map((key) => `interruption.${key}`)),
    );
  });

  it.each([
    ['a mark is sent every 200 ms', MARK_EVERY_MS, 200],
    ['Marks that stay away for 5 s', MARK_GRACE_MS, 5000],
    ['up to 60 s of it', MAX_REST_MS, 60_000],
    ['from 0.24 s before the cut', REST_OVERLAP_MS, 240],
    ['After three resumptions', MAX_RESUMPTIONS, 3],
    ['nobody answers within 10 s', REQUEST_TIMEOUT_MS, 10_000],
    ['5 s after the last word, when there is news', PROGRESS_EVERY_MS, 5000],
    ['10 s after the last word, when there is none', FILLER_EVERY_MS, 10_000],
    ['replaced five minutes before its limit', ROLLOVER_MARGIN_MS, 300_000],
    ['24 items and 6,000 characters', MAX_MEMORY_ITEMS * MAX_MEMORY_CHARS, 144_000],
    ['after 0.5, 1 and 2 s', RECONNECT_DELAYS_MS.join(), '500,1000,2000'],
    ['a pause of 2.5 s', ENTRY_PAUSE_MS, 2500],
    ['not begun after 8 s is not coming, and 20 s', GOODBYE_START_MS + MAX_GOODBYE_MS, 28_000],
    ['items at pauses of 0.4 s', ITEM_PAUSE_MS, 400],
  ])('says "%s", and so does the code', (said, constant, value) => {
    expect(flat).toContain(said);
    expect(constant).toBe(value);
  });
});
