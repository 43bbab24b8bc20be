import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { concatSamples, pcm16ToSamples, samplesToPcm16 } from '../../../src/audio/index.ts';
import type { WebRtcLeg } from '../../../src/leg/webrtc/index.ts';
import { decoderCount } from '../../../src/leg/webrtc/receiver.ts';
import { encoderCount } from '../../../src/leg/webrtc/sender.ts';
import { sine, toneLevelDb } from '../../audio/signals.ts';
import { every20ms, openTestPeers, until } from '../../bugs/webrtc-line.ts';
import { CallerProcess } from './caller-process.ts';

const CALLS = 20;
/** No tone is a multiple of another one. */
const CALLERS = Array.from({ length: CALLS }, (_, n) => 1010 + n * 47);
const AGENTS = Array.from({ length: CALLS }, (_, n) => 1030 + n * 47);

const line = await openTestPeers();
const callers = new CallerProcess();
afterAll(async () => {
  callers.close();
  await line.close();
});

async function connect(): Promise<WebRtcLeg[]> {
  const { offers } = await callers.ask({ type: 'open', count: CALLS }, 'opened');
  const answers = await Promise.all(offers.map((offer) => line.peers.answer(offer)));
  const accepted = callers.ask({ type: 'accept', answers: answers.map(({ sdp }) => sdp) }, 'accepted');
  expect(await Promise.all(answers.map(({ connected }) => connected))).toEqual(Array(CALLS).fill(true));
  await accepted;
  return answers.map(({ leg }) => leg);
}

/** Everybody talks at once, both ways. Returns what each leg heard. */
async function talk(legs: readonly WebRtcLeg[], ms: number) {
  const heard = legs.map((): Int16Array[] => []);
  for (const [n, leg] of legs.entries())
    leg.on('audio', (audio) => heard[n]!.push(pcm16ToSamples(audio as Uint8Array)));
  const tones = AGENTS.map((hz) => sine(hz, 24_000, 1));
  const stop = every20ms((n) => {
    const at = (n % 50) * 480;
    for (const [index, leg] of legs.entries())
      leg.send('item', samplesToPcm16(tones[index]!.slice(at, at + 480)));
  });
  const { levels } = await callers.ask({ type: 'talk', ms, tones: CALLERS, listenFor: AGENTS }, 'talked');
  stop();
  // A machine that is overrun hands over late what was said in time.
  await until(() => heard.every((parts) => parts.length >= (ms / 20) * 0.9), 10_000);
  return { heard: heard.map((parts) => concatSamples(parts)), levels };
}

const held = () => ({
  files: readdirSync('/proc/self/fd').length,
  threads: readdirSync('/proc/self/task').length,
  decoders: decoderCount(),
  encoders: encoderCount(),
  peers: line.peers.size,
});

async function hangUpAll(legs: readonly WebRtcLeg[]): Promise<void> {
  await Promise.all(legs.map((leg) => leg.hangup()));
  await callers.ask({ type: 'close' }, 'closed');
  await until(() => line.peers.size === 0, 3000);
  await until(() => false, 300);
}

/** How far each tone of one's own stands out from the loudest of the others, in dB. */
const margins = (levels: readonly (readonly number[])[]) =>
  levels.map((each, own) => each[own]! - Math.max(...each.filter((_, n) => n !== own)));

describe('twenty calls at once', () => {
  it('hear each their own caller, and are heard by nobody else', { timeout: 60_000 }, async () => {
    const legs = await connect();
    const { heard, levels } = await talk(legs, 3000);
    const ours = heard.map((samples) =>
      CALLERS.map((hz) => toneLevelDb(samples.subarray(-33_600, -9600), hz, 24_000)),
    );
    expect(Math.min(...margins(ours))).toBeGreaterThan(20);
    expect(Math.min(...margins(levels))).toBeGreaterThan(20);
    expect(legs.map((leg) => leg.received.missing + leg.received.late)).toEqual(Array(CALLS).fill(0));
    expect(held()).toMatchObject({ decoders: CALLS, encoders: CALLS, peers: CALLS });
    await hangUpAll(legs);
  });

  it('leave nothing behind: no socket, no thread, no codec, no memory', { timeout: 60_000 }, async () => {
    const before = held();
    const residentBefore = process.memoryUsage().rss;
    for (let round = 0; round < 3; round += 1) {
      const legs = await connect();
      await talk(legs, 400);
      await hangUpAll(legs);
    }
    expect(held()).toEqual(before);
    expect(before).toMatchObject({ decoders: 0, encoders: 0, peers: 0 });
    // 60 calls: less than 500 KB each, and nearly all of it the heap's own slack.
    expect((process.memoryUsage().rss - residentBefore) / 1e6).toBeLessThan(30);
  });
});

describe('a process with a call behind it', () => {
  // The caller's end, on the same native stack, now and then refuses an answer on a machine that is overrun.
  it.each(['ours', 'caller'])(
    'ends by itself when nothing is left to do (%s hung up)',
    { timeout: 30_000, retry: 2 },
    async (who) => {
      const script = fileURLToPath(new URL('./exits.ts', import.meta.url));
      const run = promisify(execFile)(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', script, who],
        { timeout: 15_000 },
      );
      expect((await run).stdout.trim()).toBe('connected');
    },
  );
});
