/** docs/reference/faults.md, row by row: each fault is brought about on the real engine, and the row has to be true. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CallRecord } from '../../src/observe/index.ts';
import { placeCall } from '../bugs/line.ts';
import { tempDir } from '../store/temp.ts';
import { FAULTS } from './faults.ts';

const page = readFileSync(new URL('../../docs/reference/faults.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| (model|carrier|tool|host|disk|clock):/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, fault = '', heard = '', record = '', freed = '']) => ({ fault, heard, record, freed }));
const recordings = tempDir('faults');

describe('the table of faults', () => {
  it('has a test for every row, and a row for every test', () => {
    expect(rows.map(({ fault }) => fault).sort()).toEqual(
      [...new Set(FAULTS.map(({ fault }) => fault))].sort(),
    );
    for (const row of rows) for (const cell of Object.values(row)) expect(cell, row.fault).not.toBe('');
  });

  it.each(FAULTS)('$fault', async ({ fault, options = {}, strike, ends, withoutRecord }) => {
    const line = await placeCall({ ...options, parts: { recordingDirectory: recordings, ...options.parts } });
    const { carrier, call, clock, desk, ended, fake, legs, callId } = line;

    await strike(line);

    // How it ends.
    if (ends === undefined) {
      expect(ended, 'the call goes on').toEqual([]);
      carrier.hangup();
    }
    await clock.advance(3000);
    expect(ended).toMatchObject([{ callId, reason: ends ?? 'caller_hangup' }]);

    // What is freed: the line, the model's session, the leg, every timer.
    expect(desk.activeCalls + desk.pendingCalls).toBe(0);
    expect(fake.sessions.some((session) => session.isOpen)).toBe(false);
    expect(legs[0]!.listenerCount()).toBe(0);
    expect(call.listenerCount()).toBe(0);
    expect(carrier.isClosed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(clock.pendingWork).toBe(0);

    // What is in the record: the reason, and each code that the row names.
    const codes = [...(rows.find((row) => row.fault === fault)?.record ?? '').matchAll(/`([^`]+)`/g)].map(
      ([, code]) => code!,
    );
    expect(codes.length).toBeGreaterThan(0);
    const facts = new Set([ended[0]!.reason, ...Object.keys(ended[0]!.counters)]);
    if (!withoutRecord) {
      const record = JSON.parse(readFileSync(join(recordings, callId, 'call.json'), 'utf8')) as CallRecord;
      expect(record).toMatchObject({ endReason: ended[0]!.reason, counters: ended[0]!.counters });
      for (const event of record.events) facts.add(event.type === 'fault' ? event.code : event.type);
      for (const event of record.events) expect(event.atMs).toBeGreaterThanOrEqual(0);
    }
    for (const code of codes) expect([...facts], `the row of "${fault}" names ${code}`).toContain(code);

    // And nothing of it is a secret, a number or a stack in the log.
    expect(line.logs.join('')).not.toMatch(/test-key|5550100|a secret path|\bat .*\.ts:\d/);
  });
});
