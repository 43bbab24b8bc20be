// Elsewhere: a socket that closed before its first message crashed the handler; the call was neither ended nor on record.

import { describe, expect, it } from 'vitest';
import { placeCall } from './line.ts';

describe('bug 60: a caller who is gone before the stream starts', () => {
  it.each([
    ['hangs up', (line: Awaited<ReturnType<typeof placeCall>>) => line.carrier.hangup()],
    ['breaks off', (line) => line.carrier.reset()],
    ['says something else first', (line) => line.carrier.sendRaw('{"event":"media"}')],
    ['sends no JSON', (line) => line.carrier.sendRaw('hello')],
    ['sends bytes', (line) => line.carrier.sendBinary(new Uint8Array(3))],
    ['says nothing at all', () => {}],
    [
      'says "connected" and no more',
      (line) => line.carrier.sendRaw('{"event":"connected","protocol":"Call"}'),
    ],
  ] as [string, (line: Awaited<ReturnType<typeof placeCall>>) => void][])(
    'and %s is an abandoned call, with its line free and no stack trace',
    async (_, leave) => {
      const line = await placeCall({ start: false, config: { greeting: 'Hello.' } });
      const { clock, desk, ended, fake, logs, store } = line;
      leave(line);
      await clock.advance(31_000);

      expect(ended).toMatchObject([{ reason: 'abandoned' }]);
      expect([...store.calls.values()]).toMatchObject([{ endReason: 'abandoned' }]);
      expect(desk.activeCalls + desk.pendingCalls).toBe(0);
      expect(fake.session.isOpen).toBe(false);
      expect(logs.join('')).not.toMatch(/stack|Error:|\bat .*\.ts/);
      await clock.advance(5000);
      expect(clock.pendingTimers).toBe(0);
    },
  );
});
