/**
 * What the fake model does in a turn, as data.
 *
 * @module
 */

import type { SampleRate } from '../../audio/index.ts';
import type { ResponseParams } from './client-event-schema.ts';
import type { ConversationItem } from './conversation.ts';

/** Mono sound. At another rate than the session's it is resampled: `await loadAudio()` first. */
export interface Sound {
  readonly samples: Int16Array;
  readonly sampleRate: SampleRate;
}

/** A tone, made at whatever rate the session speaks. */
export interface Tone {
  readonly durationMs: number;
  readonly hz: number;
}

/** Any event of the server's. */
export interface TypedEvent {
  readonly type: string;
}

export type FakeAction =
  | { readonly type: 'say'; readonly text: string; readonly sound: Sound | Tone }
  | { readonly type: 'call'; readonly name: string; readonly args: string; readonly callId: string | null }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'fail'; readonly code: string }
  | { readonly type: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly type: 'stall' }
  | { readonly type: 'raw'; readonly event: TypedEvent };

/** What the handler of `onTurn` is told. */
export interface FakeTurn {
  /** 0 for the first response of the session. */
  readonly index: number;
  /** The caller's speech ended, or the client asked for a response. */
  readonly trigger: 'speech' | 'request';
  /** What the caller said, when speech started this turn and a transcript was scripted. */
  readonly heard: string | null;
  /** Text of the newest user message. */
  readonly lastUserText: string | null;
  /** Outputs of function calls that came in since the last response. */
  readonly toolOutputs: readonly {
    readonly callId: string;
    readonly name: string;
    readonly output: string;
  }[];
  /** Instructions in force: the request's own, else the session's. */
  readonly instructions: string;
  readonly request: ResponseParams | null;
  readonly conversation: readonly ConversationItem[];
}

export type TurnHandler = (turn: FakeTurn) => readonly FakeAction[] | Promise<readonly FakeAction[]>;

/** Speech takes about this long for each character. */
const MS_PER_CHARACTER = 65;

/** A sine tone; what the fake model speaks with unless it is given other sound. */
export function tone(durationMs: number, hz = 440, sampleRate: SampleRate = 24000, level = 0.3): Sound {
  const samples = new Int16Array(Math.round((durationMs * sampleRate) / 1000));
  const step = (2 * Math.PI * hz) / sampleRate;
  for (let i = 0; i < samples.length; i += 1) samples[i] = Math.round(level * 32767 * Math.sin(step * i));
  return { samples, sampleRate };
}

/** Speaks. Without `sound` it is a tone as long as the text would take. */
export function say(
  text: string,
  options: { sound?: Sound; durationMs?: number; hz?: number } = {},
): FakeAction {
  const durationMs = options.durationMs ?? Math.max(200, text.length * MS_PER_CHARACTER);
  return { type: 'say', text, sound: options.sound ?? { durationMs, hz: options.hz ?? 440 } };
}

/** Calls a function; `args` that is text goes out as it is, valid JSON or not. */
export function call(name: string, args: unknown = {}, callId: string | null = null): FakeAction {
  return { type: 'call', name, args: typeof args === 'string' ? args : JSON.stringify(args), callId };
}

/** Pauses generation. */
export function wait(ms: number): FakeAction {
  return { type: 'wait', ms };
}

/** Ends the response with status `failed`. */
export function fail(code: string): FakeAction {
  return { type: 'fail', code };
}

/** Ends the response with status `incomplete`. */
export function incomplete(reason: 'max_output_tokens' | 'content_filter' = 'max_output_tokens'): FakeAction {
  return { type: 'incomplete', reason };
}

/** Stops generating and never ends the response; only a cancel does. */
export function stall(): FakeAction {
  return { type: 'stall' };
}

/** Sends any event as it is, valid or not. */
export function raw<E extends TypedEvent>(event: E): FakeAction {
  return { type: 'raw', event };
}
