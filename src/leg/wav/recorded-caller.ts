/**
 * A recorded caller: plays clips into the call on cues and listens like a phone does, in real time, with a
 * platform's playback buffer and its marks. For demos, for trying an agent on a recording, for tests.
 *
 * @module
 */

import {
  type AudioData,
  audioBytes,
  FRAME_MS,
  type FrameTicker,
  frameTicker,
  PCMU_8K,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCapabilities, LegCloseReason, ShowEvent } from '../contract.ts';
import type { Clip } from './clips.ts';

const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(0xff);
/** Audio that may wait to be played; a real platform has a bound too. */
export const MAX_PLAYBACK_MS = 60_000;
/** A caller whose cue does not come goes on after this long. */
export const CUE_TIMEOUT_MS = 15_000;
/** After the last clip, the caller hangs up once it has been silent for this long. */
export const HANG_UP_AFTER_MS = 8000;
/** Agent audio quieter than this (µ-law magnitude, of 8,031) counts as a pause. */
const QUIET = 200;

export const RECORDED_CALLER_CAPABILITIES: LegCapabilities = {
  carrier: 'wav',
  input: PCMU_8K,
  output: PCMU_8K,
  pacing: 'platform',
  frameBytes: FRAME_BYTES,
  maxLeadMs: 200,
  marks: 'echo',
  marksOnClear: 'drop',
  clear: 'ack',
  gain: false,
  screen: false,
  dtmfIn: false,
  dtmfOut: false,
  transfer: false,
};

type Playback =
  | { readonly kind: 'frame'; readonly frame: Uint8Array }
  | { readonly kind: 'mark'; readonly name: string };

export class RecordedCaller extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = RECORDED_CALLER_CAPABILITIES;
  readonly #clock: Clock;
  readonly #ticker: FrameTicker;
  readonly #clips: Clip[];
  readonly #playback: Playback[] = [];
  #queuedMs = 0;
  #speaking: { clip: Clip; at: number } | null = null;
  #lastWordAt: number;
  #agentSpokeSince = false;
  #agentSpeaksSince: number | null = null;
  #agentQuietSince: number;
  #closed = false;

  constructor(options: { clock: Clock; clips: readonly Clip[] }) {
    super();
    this.#clock = options.clock;
    this.#clips = [...options.clips];
    this.#lastWordAt = options.clock.now();
    this.#agentQuietSince = this.#lastWordAt;
    this.#ticker = frameTicker(options.clock);
  }

  /** The call is up: audio flows both ways from here. */
  start(): void {
    this.#ticker.add(this.#tick);
  }

  send(_itemId: string, audio: AudioData): void {
    if (this.#closed) return;
    const bytes = audioBytes(audio);
    if (bytes.byteLength % FRAME_BYTES !== 0) {
      throw new VoiceError(
        'LEG_PROTOCOL',
        `Audio comes in whole frames of ${FRAME_BYTES} bytes, not ${bytes.byteLength}.`,
      );
    }
    for (let at = 0; at < bytes.byteLength; at += FRAME_BYTES) {
      if (this.#queuedMs >= MAX_PLAYBACK_MS) {
        this.#close('backpressure');
        return;
      }
      this.#playback.push({ kind: 'frame', frame: bytes.subarray(at, at + FRAME_BYTES) });
      this.#queuedMs += FRAME_MS;
    }
  }

  mark(name: string): void {
    if (this.#closed) return;
    this.#playback.push({ kind: 'mark', name });
  }

  clear(): void {
    if (this.#closed) return;
    this.#playback.length = 0;
    this.#queuedMs = 0;
    this.emit('cleared');
  }

  setGain(): void {}

  sendDtmf(): Promise<void> {
    return Promise.reject(new VoiceError('LEG_UNSUPPORTED', 'A recorded caller hears no digits.'));
  }

  transfer(): Promise<void> {
    return Promise.reject(new VoiceError('LEG_UNSUPPORTED', 'A recorded caller can not be transferred.'));
  }

  show(_event: ShowEvent): void {}

  hangup(): Promise<void> {
    this.#close('local_hangup');
    return Promise.resolve();
  }

  readonly #tick = (now: number): void => {
    this.#listen(now);
    if (this.#closed) return;
    this.emit('audio', this.#nextFrame(now));
    if (this.#clips.length === 0 && this.#speaking === null && this.#quietFor(now) >= HANG_UP_AFTER_MS) {
      this.#close('caller_hangup');
    }
  };

  /** One frame of the agent is heard. */
  #listen(now: number): void {
    this.#playMarks();
    const next = this.#playback.shift();
    if (next?.kind === 'frame') this.#queuedMs -= FRAME_MS;
    if (next?.kind === 'frame' && isLoud(next.frame)) {
      this.#agentSpokeSince = true;
      this.#agentSpeaksSince ??= now;
      this.#agentQuietSince = now;
    } else if (now - this.#agentQuietSince > PAUSE_MS) this.#agentSpeaksSince = null;
    this.#playMarks();
  }

  #playMarks(): void {
    while (this.#playback[0]?.kind === 'mark') {
      const mark = this.#playback.shift();
      if (mark?.kind === 'mark') this.emit('played', mark.name);
    }
  }

  #nextFrame(now: number): Uint8Array {
    if (this.#speaking === null) this.#speaking = this.#cued(now);
    const speaking = this.#speaking;
    if (speaking === null) return SILENCE;
    const frame = speaking.clip.audio.subarray(speaking.at, speaking.at + FRAME_BYTES);
    speaking.at += FRAME_BYTES;
    this.#lastWordAt = now;
    if (speaking.at >= speaking.clip.audio.byteLength) {
      this.#speaking = null;
      this.#agentSpokeSince = false;
    }
    if (frame.byteLength === FRAME_BYTES) return frame;
    const padded = new Uint8Array(SILENCE);
    padded.set(frame);
    return padded;
  }

  #cued(now: number): { clip: Clip; at: number } | null {
    const clip = this.#clips[0];
    if (!clip || !(this.#isDue(clip, now) || this.#quietFor(now) >= CUE_TIMEOUT_MS)) return null;
    this.#clips.shift();
    return { clip, at: 0 };
  }

  #isDue({ cue }: Clip, now: number): boolean {
    switch (cue.when) {
      case 'answered':
        return this.#agentSpokeSince && now - this.#agentQuietSince >= cue.delayMs;
      case 'talks-over':
        return (
          this.#agentSpokeSince &&
          this.#agentSpeaksSince !== null &&
          now - this.#agentSpeaksSince >= cue.delayMs
        );
      case 'now':
        return now - this.#lastWordAt >= cue.delayMs;
      default:
        return cue.when satisfies never;
    }
  }

  /** How long neither side has said anything. */
  #quietFor(now: number): number {
    return now - Math.max(this.#agentQuietSince, this.#lastWordAt);
  }

  #close(reason: LegCloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ticker.remove(this.#tick);
    this.#playback.length = 0;
    this.emit('closed', reason);
    this.removeAllListeners();
  }
}

/** A pause between two of the agent's sentences. */
const PAUSE_MS = 400;

/** µ-law magnitude: the inverted code without its sign grows with loudness, logarithmically. */
function isLoud(frame: Uint8Array): boolean {
  for (const code of frame) {
    const exponent = (~code >> 4) & 7;
    const magnitude = (((~code & 15) * 2 + 33) << exponent) - 33;
    if (magnitude > QUIET) return true;
  }
  return false;
}
