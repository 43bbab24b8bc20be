/**
 * The caller's side of a call. One implementation per carrier; the conductor reads `capabilities` and never
 * asks which carrier it is.
 *
 * @module
 */

import type { AudioData, AudioFormat } from '../audio/index.ts';
import type { Emitter } from '../emitter.ts';

/** What this leg can do, as data. Source of each carrier's row: its own folder. */
export interface LegCapabilities {
  /** Short stable name for records and metrics, e.g. `twilio`, `wav`. */
  readonly carrier: string;
  /** Format of the `audio` event. */
  readonly input: AudioFormat;
  /** Format that `send` takes. */
  readonly output: AudioFormat;
  /** Who plays frames at their time: the platform buffers what it is sent, or we must pace every frame. */
  readonly pacing: 'platform' | 'sender';
  /** Every `send` carries a multiple of this many bytes; the last frame of an item is padded with silence. */
  readonly frameBytes: number;
  /** How far ahead of playout the pacer may send, in ms. */
  readonly maxLeadMs: number;
  /** Whether `mark` comes back as `played`. */
  readonly marks: 'echo' | 'none';
  /** What happens to outstanding marks on `clear`. */
  readonly marksOnClear: 'echo' | 'drop';
  /** `clear` is acknowledged by `cleared`, works silently, or does not exist. */
  readonly clear: 'ack' | 'silent' | 'none';
  /** `setGain` works: playback already sent can be ducked. */
  readonly gain: boolean;
  /** `show` reaches a screen. */
  readonly screen: boolean;
  /** Emits `dtmf`. */
  readonly dtmfIn: boolean;
  readonly dtmfOut: boolean;
  readonly transfer: boolean;
  /** After `connection_lost` the same call may come back on a new leg. */
  readonly reconnects?: boolean;
}

/** Why a leg ended, as the leg knows it. */
export type LegCloseReason =
  | 'caller_hangup'
  | 'local_hangup'
  /** The caller is with somebody else now. */
  | 'transferred'
  | 'connection_lost'
  | 'protocol_error'
  | 'backpressure'
  | 'no_media';

export interface CallLegEvents {
  /** The caller's audio, gaps already filled with silence, in `capabilities.input`. */
  audio: [audio: AudioData];
  /** One key, `0`-`9`, `*`, `#` or `A`-`D`. Never logged. */
  dtmf: [digit: string];
  /** Text that the caller typed. */
  text: [text: string];
  /** Everything sent before this mark has been heard. Never emitted for a mark that `clear` took. */
  played: [mark: string];
  /** The carrier confirmed the last `clear`. */
  cleared: [];
  /** Emitted exactly once; nothing follows it. */
  closed: [reason: LegCloseReason];
}

/** What the call is doing, for a caller who watches it. */
export type ShownState = 'listening' | 'hearing' | 'thinking' | 'working' | 'speaking' | 'asking' | 'ending';

/** What a leg with a screen can be asked to show. It carries what was said: never to a log. */
export type ShowEvent =
  | {
      readonly type: 'transcript';
      readonly role: 'user' | 'assistant';
      /** Which turn or item it belongs to; unique on the call. */
      readonly itemId: string;
      readonly text: string;
      /** `text` goes behind what there is already; otherwise it is the whole so far. */
      readonly append: boolean;
      readonly final: boolean;
    }
  /** The agent's item was cut off: so much of it was heard, and the rest never will be. */
  | { readonly type: 'heard'; readonly itemId: string; readonly text: string }
  | {
      readonly type: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly phase: 'started' | 'progress' | 'ended';
      /** With `started`: the arguments as JSON text. */
      readonly args?: string;
      /** With `progress`: how far it is. With `ended`: what it gave. */
      readonly output?: string;
      readonly isError?: boolean;
    }
  | { readonly type: 'state'; readonly state: ShownState }
  /** From the end of the caller's speech to the agent's first audio, in ms; `toolMs` of it a tool ran. */
  | { readonly type: 'latency'; readonly turn: number; readonly latencyMs: number; readonly toolMs: number };

export interface CallLeg extends Emitter<CallLegEvents> {
  readonly capabilities: LegCapabilities;
  /**
   * Plays audio of one model item, in order, behind what was sent before.
   *
   * @param audio - a multiple of `capabilities.frameBytes` bytes in `capabilities.output`
   */
  send(itemId: string, audio: AudioData): void;
  /** Asks for `played` when everything sent so far has been heard. At most 64 characters. */
  mark(name: string): void;
  /** Drops everything sent and not yet heard; takes outstanding marks with it. */
  clear(): void;
  /** Loudness of playback, 0 to 1, where `capabilities.gain`. */
  setGain(level: number): void;
  /**
   * Presses keys. Where `capabilities.reconnects`, the leg may close over it with `connection_lost`, and come back.
   *
   * @throws VoiceError `LEG_UNSUPPORTED`, `CARRIER_FAILED`, `CARRIER_REFUSED`
   */
  sendDtmf(digits: string): Promise<void>;
  /**
   * Connects the caller to somebody else; the leg closes with `transferred`.
   *
   * @throws VoiceError `LEG_UNSUPPORTED`, `CARRIER_FAILED`, `CARRIER_REFUSED`
   */
  transfer(target: string): Promise<void>;
  show(event: ShowEvent): void;
  /** Ends the leg; `closed` follows with `local_hangup`. Idempotent. */
  hangup(): Promise<void>;
}
