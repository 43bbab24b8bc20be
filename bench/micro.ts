/**
 * Every function on the way of a frame of 20 ms: nanoseconds and bytes allocated, each, and the whole way in both
 * directions between two sockets that are functions.
 *
 *   node --expose-gc --max-semi-space-size=256 bench/micro.ts
 *
 * @module
 */

import {
  audioBase64,
  audioBytes,
  createResampler,
  createTranscoder,
  decodeG711,
  encodeG711,
  loadAudio,
  OpusDecoder,
  OpusEncoder,
  Pacer,
  PCM16_24K,
  PCMU_8K,
} from '../src/audio/index.ts';
import { PlaybackLedger } from '../src/call/playback.ts';
import type { Clock } from '../src/clock.ts';
import { GapFiller, mediaMessages, parseTwilioMessage } from '../src/leg/twilio/index.ts';
import { audioAppend } from '../src/model/openai/client-events.ts';
import { parseServerEvent } from '../src/model/openai/server-events.ts';
import { FakeGateway } from '../src/testing/index.ts';
import { median } from './lib/histogram.ts';
import { Line, openLines } from './lib/lines.ts';
import { BLANK_PAYLOAD } from './relay/stamp.ts';

export interface MicroResult {
  readonly name: string;
  readonly nsPerFrame: number;
  readonly bytesPerFrame: number;
}

const ROUNDS = 7;

function used(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Medians of seven rounds; the bytes are those of a round in which nothing was collected. */
export function measure(name: string, iterations: number, once: (n: number) => void): MicroResult {
  let n = 0;
  for (let i = 0; i < iterations; i += 1) once(n++);
  const ns: number[] = [];
  const bytes: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    globalThis.gc?.();
    const before = used();
    const startedAt = performance.now();
    for (let i = 0; i < iterations; i += 1) once(n++);
    ns.push(((performance.now() - startedAt) * 1e6) / iterations);
    bytes.push((used() - before) / iterations);
  }
  return { name, nsPerFrame: Math.round(median(ns)), bytesPerFrame: Math.max(0, Math.round(median(bytes))) };
}

/** A clock whose time is set by hand: the ways are measured frame by frame, without waiting. */
export class HandClock implements Clock {
  readonly kind = 'real';
  at = 0;
  /** Timers armed since the start. */
  armed = 0;
  /** Timers armed and not cleared. */
  live = 0;
  now = (): number => this.at;
  wallNow = (): number => 1_700_000_000_000 + this.at;
  setTimeout(): { clear(): void } {
    this.armed += 1;
    this.live += 1;
    let isLive = true;
    return {
      clear: () => {
        if (isLive) this.live -= 1;
        isLive = false;
      },
    };
  }
  track<T>(work: Promise<T>): Promise<T> {
    return work;
  }
}

export async function wayUpAndDown(): Promise<{
  up: MicroResult;
  down: MicroResult;
  messagesUp: number;
  messagesDown: number;
  timersPerFrame: number;
}> {
  const clock = new HandClock();
  const { lines, dial, close } = await openLines(clock, new FakeGateway({ tools: {} }));
  await dial(1);
  await new Promise((resolve) => setImmediate(resolve));
  const line = lines[0];
  if (!line) throw new Error('No line.');
  // Marks come back as a carrier sends them, a moment later.
  let marks: string[] = [];
  line.onCarrier = (text) => {
    if (text.includes('"mark"')) marks.push(text);
  };
  const media = (l: Line) => l.mediaText();
  line.toModel = 0;
  clock.armed = 0;
  const COUNT = 20_000;
  let frames = 0;
  const up = measure('the whole way up: Twilio’s text in, the model’s text out', COUNT, () => {
    clock.at += 20;
    frames += 1;
    line.carrier(media(line));
  });
  const messagesUp = line.toModel / frames;
  line.beginAnswer();
  line.toCarrier = 0;
  let downFrames = 0;
  const down = measure('the whole way down: the model’s text in, Twilio’s text out', COUNT, () => {
    clock.at += 20;
    downFrames += 1;
    line.modelText(line.deltaText());
    if (marks.length > 3) {
      for (const mark of marks) line.carrier(mark);
      marks = [];
    }
  });
  const messagesDown = line.toCarrier / downFrames;
  const timersPerFrame = clock.armed / (frames + downFrames);
  await close();
  return { up, down, messagesUp, messagesDown, timersPerFrame };
}

export async function micro(): Promise<MicroResult[]> {
  await loadAudio();
  const frame = new Uint8Array(160).fill(0x2a);
  const samples = decodeG711(frame, 'pcmu');
  const results: MicroResult[] = [];
  const add = (name: string, iterations: number, once: (n: number) => void) =>
    results.push(measure(name, iterations, once));

  add('G.711 decode', 50_000, () => void decodeG711(frame, 'pcmu'));
  add('G.711 encode', 50_000, () => void encodeG711(samples, 'pcmu'));
  add('base64 to bytes', 50_000, () => void audioBytes(BLANK_PAYLOAD));
  add('bytes to base64', 50_000, () => void audioBase64(frame));
  const resampler = createResampler(8000, 24000);
  add('resample 8 to 24 kHz', 5000, () => void resampler.process(samples));
  const down24 = createTranscoder(PCM16_24K, PCMU_8K);
  const pcm24 = new Uint8Array(960);
  add('transcode 24 kHz PCM to µ-law', 5000, () => void down24.process(pcm24));
  const encoder = new OpusEncoder({ sampleRate: 48000 });
  const decoder = new OpusDecoder(48000);
  const wide = new Int16Array(960);
  for (let i = 0; i < wide.length; i += 1) wide[i] = 8000 * Math.sin(i / 20) + (i % 37) * 40;
  const packet = encoder.encode(wide);
  add('Opus encode', 500, () => void encoder.encode(wide));
  add('Opus decode', 1000, () => void decoder.decode(packet));
  const pacer = new Pacer({ format: PCMU_8K, frameBytes: 160, maxLeadMs: 200 });
  add('pacer: in and out', 20_000, (n) => {
    pacer.push('item', frame);
    pacer.next(n * 20);
  });
  const ledger = new PlaybackLedger({ marks: true });
  add('ledger: received, sent, settled', 20_000, (n) => {
    ledger.received({ itemId: 'item', source: 'model', responseId: 'r' }, 20, n * 20);
    ledger.sent('item', 20, n * 20);
    ledger.settle(n * 20);
  });
  const gaps = new GapFiller();
  add('gap filler', 50_000, (n) => void gaps.onMedia(n * 20, 20, n * 20));
  const line = new Line(0);
  const text = line.mediaText();
  add('framing: read Twilio’s media', 20_000, () => void parseTwilioMessage(text));
  const mediaMessage = mediaMessages(line.streamSid);
  add('framing: write Twilio’s media', 20_000, () => void mediaMessage(BLANK_PAYLOAD));
  const delta = line.deltaText();
  add('framing: read the model’s audio', 20_000, () => void parseServerEvent(delta));
  add('framing: write the model’s audio', 20_000, () => void audioAppend(BLANK_PAYLOAD));
  const { up, down } = await wayUpAndDown();
  results.push(up, down);
  return results;
}

if (import.meta.main) {
  const results = await micro();
  if (process.argv.includes('--json')) console.log(JSON.stringify(results));
  else
    for (const { name, nsPerFrame, bytesPerFrame } of results)
      console.log(
        `${name.padEnd(62)} ${String(nsPerFrame).padStart(8)} ns  ${String(bytesPerFrame).padStart(7)} bytes`,
      );
  process.exit();
}
