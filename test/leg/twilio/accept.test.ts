import { describe, expect, it } from 'vitest';
import {
  acceptTwilioStream,
  type NoStreamReason,
  START_TIMEOUT_MS,
  type TwilioStart,
} from '../../../src/leg/twilio/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { connected, MemorySocket, mediaMessage, startMessage } from './memory-socket.ts';

function setUp() {
  const clock = new FakeClock();
  const socket = new MemorySocket();
  const starts: TwilioStart[] = [];
  const failures: NoStreamReason[] = [];
  acceptTwilioStream(socket, clock, {
    started: (start) => starts.push(start),
    failed: (reason) => failures.push(reason),
  });
  return { clock, socket, starts, failures };
}

describe('accepting a Twilio stream', () => {
  it('waits for connected and start', () => {
    const { clock, socket, starts, failures } = setUp();
    socket.receive(connected);
    socket.receive(startMessage({ token: 'abc' }));
    expect(starts.map((each) => each.customParameters)).toEqual([{ token: 'abc' }]);
    expect(failures).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(socket.sink).toBeNull();
    expect(socket.closeCode).toBeNull();
  });

  it('gives a slow one up after five seconds', async () => {
    const { clock, socket, failures } = setUp();
    socket.receive(connected);
    await clock.advance(START_TIMEOUT_MS - 1);
    expect(failures).toEqual([]);
    await clock.advance(1);
    expect(failures).toEqual(['timeout']);
    expect(socket.closeCode).toBe(1008);
  });

  it('takes a socket that closes before its first message for what it is, once', async () => {
    const { clock, socket, failures } = setUp();
    socket.drop();
    await clock.advance(START_TIMEOUT_MS);
    expect(failures).toEqual(['closed']);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ['media before start', JSON.stringify(mediaMessage(0))],
    ['connected a second time', JSON.stringify(connected)],
    ['a binary frame', new Uint8Array(4)],
    ['no JSON', 'hello'],
  ])('refuses %s', (_, data) => {
    const { socket, starts, failures } = setUp();
    socket.receive(connected);
    socket.receiveRaw(data);
    socket.receive(startMessage());
    expect(failures).toEqual(['protocol_error']);
    expect(starts).toEqual([]);
    expect(socket.closeCode).toBe(1002);
  });
});
