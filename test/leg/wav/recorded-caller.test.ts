import { beforeEach, describe, expect, it } from 'vitest';
import { frameTicker } from '../../../src/audio/index.ts';
import { type Clip, type Cue, RecordedCaller } from '../../../src/leg/wav/index.ts';
import { CUE_TIMEOUT_MS, HANG_UP_AFTER_MS, MAX_PLAYBACK_MS } from '../../../src/leg/wav/recorded-caller.ts';
import { FakeClock } from '../../../src/testing/index.ts';

const LOUD = 0x00;
const clip = (name: string, cue: Cue, ms = 400): Clip => ({
  name,
  cue,
  audio: new Uint8Array(ms * 8).fill(LOUD),
});
const speech = (ms: number) => new Uint8Array(ms * 8).fill(LOUD);

let clock: FakeClock;

function start(clips: readonly Clip[]) {
  const caller = new RecordedCaller({ clock, clips });
  const log = { closed: null as string | null, played: [] as string[], loudAt: [] as number[], frames: 0 };
  caller.on('audio', (audio) => {
    log.frames++;
    if (audio[0] === LOUD) log.loudAt.push(clock.now());
  });
  caller.on('played', (mark) => log.played.push(mark));
  caller.on('closed', (reason) => {
    log.closed = reason;
  });
  caller.start();
  return { caller, log };
}

beforeEach(() => {
  clock = new FakeClock();
});

describe('a recorded caller', () => {
  it('sends a frame every 20 ms, silence where it says nothing', async () => {
    const { log } = start([]);

    await clock.advance(1000);

    expect(log.frames).toBe(50);
    expect(log.loudAt).toEqual([]);
  });

  it('answers once the agent has spoken and paused', async () => {
    const { caller, log } = start([clip('a', { when: 'answered', delayMs: 500 })]);
    await clock.advance(1000);
    caller.send('i', speech(600));
    await clock.advance(1000);
    expect(log.loudAt).toEqual([]);

    await clock.advance(600);

    expect(log.loudAt[0]).toBeGreaterThanOrEqual(2080);
    expect(log.loudAt[0]).toBeLessThanOrEqual(2140);
    expect(log.loudAt).toHaveLength(20);
  });

  it('talks over an agent that has spoken for so long', async () => {
    const { caller, log } = start([clip('a', { when: 'talks-over', delayMs: 1000 })]);
    caller.send('i', speech(5000));

    await clock.advance(1500);

    expect(log.loudAt[0]).toBeGreaterThanOrEqual(1000);
    expect(log.loudAt[0]).toBeLessThanOrEqual(1060);
  });

  it('goes on by itself when its cue does not come, and hangs up when there is nothing more to say', async () => {
    const { log } = start([clip('a', { when: 'answered', delayMs: 500 })]);
    await clock.advance(CUE_TIMEOUT_MS + 1000);
    expect(log.loudAt).toHaveLength(20);

    await clock.advance(HANG_UP_AFTER_MS + 500);

    expect(log.closed).toBe('caller_hangup');
    expect(frameTicker(clock).subscriberCount).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('returns a mark when what was sent before it has been heard, and none that was cleared', async () => {
    const { caller, log } = start([]);
    caller.send('i', speech(200));
    caller.mark('m1');
    caller.send('i', speech(200));
    caller.mark('m2');
    await clock.advance(240);
    expect(log.played).toEqual(['m1']);

    caller.clear();
    await clock.advance(1000);

    expect(log.played).toEqual(['m1']);
  });

  it('refuses audio that is not in whole frames', () => {
    const { caller } = start([]);

    expect(() => caller.send('i', new Uint8Array(100))).toThrow(/whole frames/);
  });

  it('closes rather than buffer without bound', async () => {
    const { caller, log } = start([]);
    for (let sent = 0; sent <= MAX_PLAYBACK_MS; sent += 1000) caller.send('i', speech(1000));

    expect(log.closed).toBe('backpressure');
  });

  it('closes once, whoever hangs up first', async () => {
    const { caller, log } = start([]);

    await caller.hangup();
    await caller.hangup();

    expect(log.closed).toBe('local_hangup');
    expect(caller.listenerCount()).toBe(0);
  });
});
