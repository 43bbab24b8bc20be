/**
 * The recording of a call, where it is turned on: `call.wav` (8 kHz, caller left, agent right, as heard), `call.json`
 * and `call.html` in a folder of its own. Audio is written in pieces, so that a long call needs no memory.
 *
 * @module
 */

import { type FileHandle, mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AudioData,
  type AudioFormat,
  audioBytes,
  createTranscoder,
  PCM16_8K,
  pcm16ToSamples,
  type Transcoder,
  wavHeader,
} from '../audio/index.ts';
import type { LegCapabilities } from '../leg/index.ts';
import { type CallRecord, renderCallPage } from '../observe/index.ts';

const RATE = 8000;
const STEREO = { encoding: 'pcm16', channelCount: 2, sampleRate: RATE } as const;
/** Audio held back before it is written: what was sent ahead can still be cut by an interruption. */
const WINDOW_MS = 5000;
const WINDOW = (RATE * WINDOW_MS) / 1000;
/** Longest recording; what follows is left out. */
export const MAX_RECORDING_MS = 4 * 3600 * 1000;

/** One side of the call on a sliding window over the time line. */
class Track {
  readonly #samples = new Int16Array(WINDOW * 4);
  readonly #transcoder: Transcoder;
  /** Time line position of `#samples[0]`. */
  #base = 0;
  /** Where the next chunk joins when it comes on time. */
  #cursor = 0;

  constructor(format: AudioFormat) {
    this.#transcoder = createTranscoder(format, PCM16_8K);
  }

  /** @param atMs - when its first sample is on the line; a chunk that joins the last within 60 ms joins without a seam */
  write(audio: AudioData, atMs: number): void {
    const samples = pcm16ToSamples(audioBytes(this.#transcoder.process(audio)));
    const at = Math.round((atMs * RATE) / 1000);
    if (Math.abs(at - this.#cursor) > RATE * 0.06) this.#cursor = Math.max(at, this.#base);
    const start = this.#cursor - this.#base;
    if (start < 0 || start + samples.length > this.#samples.length) return;
    this.#samples.set(samples, start);
    this.#cursor += samples.length;
  }

  cut(atMs: number): void {
    const at = Math.max(0, Math.round((atMs * RATE) / 1000) - this.#base);
    this.#samples.fill(0, Math.min(at, this.#samples.length));
    this.#cursor = Math.min(this.#cursor, this.#base + at);
  }

  /** Takes the samples before `until` off the window. */
  take(until: number): Int16Array {
    const count = Math.max(0, Math.min(until - this.#base, this.#samples.length));
    const taken = this.#samples.slice(0, count);
    this.#samples.copyWithin(0, count);
    this.#samples.fill(0, this.#samples.length - count);
    this.#base += count;
    return taken;
  }

  close(): void {
    this.#transcoder.close();
  }
}

export class Recording {
  readonly #folder: string;
  readonly #caller: Track;
  readonly #agent: Track;
  #file: FileHandle | null = null;
  #queue: Promise<void>;
  #written = 0;

  constructor(directory: string, callId: string, leg: LegCapabilities) {
    this.#folder = join(directory, callId);
    this.#caller = new Track(leg.input);
    this.#agent = new Track(leg.output);
    this.#queue = this.#openFile();
    this.#queue.catch(() => {});
  }

  caller(audio: AudioData, atMs: number): void {
    if (atMs > MAX_RECORDING_MS) return;
    this.#caller.write(audio, atMs);
    const settled = Math.floor(((atMs - WINDOW_MS) * RATE) / 1000);
    if (settled - this.#written >= RATE) this.#flush(settled);
  }

  /** A frame of the agent's that plays at `atMs`. */
  agent(frame: Uint8Array, atMs: number): void {
    if (atMs <= MAX_RECORDING_MS) this.#agent.write(frame, atMs);
  }

  /** What the agent would have said after `atMs` was not heard. */
  cut(atMs: number): void {
    this.#agent.cut(atMs);
  }

  /** Writes the rest, the record and the page. */
  async finish(record: CallRecord): Promise<void> {
    this.#flush(Math.ceil((Math.min(record.durationMs, MAX_RECORDING_MS) * RATE) / 1000));
    this.#caller.close();
    this.#agent.close();
    await this.#queue;
    const file = this.#file;
    if (!file) return;
    const header = wavHeader(STEREO, this.#written * 4);
    await file.write(header, 0, header.byteLength, 0);
    await file.close();
    this.#file = null;
    await writeFile(join(this.#folder, 'call.json'), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    await writeFile(
      join(this.#folder, 'call.html'),
      await renderCallPage(record, join(this.#folder, 'call.wav')),
      {
        mode: 0o600,
      },
    );
  }

  async #openFile(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    this.#file = await open(join(this.#folder, 'call.wav'), 'w+', 0o600);
    await this.#file.write(wavHeader(STEREO, 0xffffffff));
  }

  #flush(until: number): void {
    const left = this.#caller.take(until);
    const right = this.#agent.take(until);
    if (left.length === 0) return;
    const both = new Int16Array(left.length * 2);
    for (let i = 0; i < left.length; i++) {
      both[i * 2] = left[i] ?? 0;
      both[i * 2 + 1] = right[i] ?? 0;
    }
    this.#written += left.length;
    const bytes = new Uint8Array(both.buffer);
    this.#queue = this.#queue.then(async () => {
      await this.#file?.write(bytes);
    });
    this.#queue.catch(() => {});
  }
}
