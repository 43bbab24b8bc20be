/**
 * The effective configuration of a fake session, as `session.created` and `session.updated` show it.
 *
 * @module
 */

import type { AudioFormat } from '../../audio/index.ts';
import type { SessionPatch, TurnDetection, WireFormat } from './client-event-schema.ts';
import type { Refusal } from './refusal.ts';

/** Fields that a patch may set; what it leaves out stays. */
export interface EffectiveSession {
  readonly object: 'realtime.session';
  readonly id: string;
  readonly type: 'realtime' | 'transcription';
  readonly model: string;
  readonly expires_at: number;
  readonly output_modalities: readonly ('audio' | 'text')[];
  readonly instructions: string;
  readonly tools: readonly unknown[];
  readonly tool_choice: unknown;
  readonly max_output_tokens: number | 'inf';
  readonly tracing: unknown;
  readonly truncation: unknown;
  readonly prompt: unknown;
  readonly include: unknown;
  readonly audio: {
    readonly input: {
      readonly format: WireFormat;
      readonly noise_reduction: unknown;
      readonly transcription: { readonly model?: string | undefined } | null;
      readonly turn_detection: TurnDetection | null;
    };
    readonly output: {
      readonly format: WireFormat;
      readonly voice: string | { readonly id: string };
      readonly speed: number;
    };
  };
}

export function defaultSession(id: string, model: string, expiresAtS: number): EffectiveSession {
  return {
    object: 'realtime.session',
    id,
    type: 'realtime',
    model,
    expires_at: expiresAtS,
    output_modalities: ['audio'],
    instructions: 'You are a helpful assistant.',
    tools: [],
    tool_choice: 'auto',
    max_output_tokens: 'inf',
    tracing: null,
    truncation: 'auto',
    prompt: null,
    include: null,
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: 24000 },
        noise_reduction: null,
        transcription: null,
        turn_detection: completeTurnDetection({ type: 'server_vad' }),
      },
      output: { format: { type: 'audio/pcm', rate: 24000 }, voice: 'alloy', speed: 1 },
    },
  };
}

export function applyPatch(session: EffectiveSession, patch: SessionPatch): EffectiveSession {
  const { audio, model: _fixed, ...rest } = patch;
  const turnDetection = audio?.input?.turn_detection;
  return {
    ...session,
    ...defined(rest),
    audio: {
      input: {
        ...session.audio.input,
        ...defined(audio?.input ?? {}),
        ...(turnDetection ? { turn_detection: completeTurnDetection(turnDetection) } : {}),
      },
      output: { ...session.audio.output, ...defined(audio?.output ?? {}) },
    },
  };
}

/**
 * What is wrong with a patch, in the server's words; `null` when nothing is.
 *
 * @param hasSpoken - the model was heard already, and keeps its voice
 */
export function refusedPatch(
  session: EffectiveSession,
  patch: SessionPatch,
  hasSpoken: boolean,
): Refusal | null {
  if (patch.model !== undefined && patch.model !== session.model) {
    const message = "Cannot update a conversation's model.";
    return { code: 'cannot_update_model', message, param: 'session.model' };
  }
  if (patch.type !== session.type) {
    const message = 'The type of a session cannot be changed.';
    return { code: 'invalid_value', message, param: 'session.type' };
  }
  const voice = patch.audio?.output?.voice;
  if (hasSpoken && voice !== undefined && !sameVoice(voice, session.audio.output.voice)) {
    const message = "Cannot update a conversation's voice if assistant audio is present.";
    return { code: 'cannot_update_voice', message, param: null };
  }
  return null;
}

/** The session with the formats that the server insists on, whatever the client asks for. */
export function insisted(
  session: EffectiveSession,
  formats: { readonly input?: AudioFormat; readonly output?: AudioFormat } | null,
): EffectiveSession {
  const { input, output } = formats ?? {};
  return {
    ...session,
    audio: {
      input: { ...session.audio.input, ...(input ? { format: wireFormatOf(input) } : {}) },
      output: { ...session.audio.output, ...(output ? { format: wireFormatOf(output) } : {}) },
    },
  };
}

function wireFormatOf(format: AudioFormat): WireFormat {
  switch (format.encoding) {
    case 'pcmu':
      return { type: 'audio/pcmu' };
    case 'pcma':
      return { type: 'audio/pcma' };
    case 'pcm16':
      return { type: 'audio/pcm', rate: 24000 };
    default:
      return format.encoding satisfies never;
  }
}

function sameVoice(a: string | { id: string }, b: string | { readonly id: string }): boolean {
  return (typeof a === 'string' ? a : a.id) === (typeof b === 'string' ? b : b.id);
}

export function audioFormatOf(format: WireFormat): AudioFormat {
  switch (format.type) {
    case 'audio/pcmu':
      return { encoding: 'pcmu', sampleRate: 8000 };
    case 'audio/pcma':
      return { encoding: 'pcma', sampleRate: 8000 };
    case 'audio/pcm':
      return { encoding: 'pcm16', sampleRate: 24000 };
    default:
      return format satisfies never;
  }
}

function completeTurnDetection(wanted: TurnDetection): TurnDetection {
  const gates = {
    create_response: wanted.create_response ?? true,
    interrupt_response: wanted.interrupt_response ?? true,
  };
  if (wanted.type === 'semantic_vad') return { ...wanted, eagerness: wanted.eagerness ?? 'auto', ...gates };
  return {
    ...wanted,
    threshold: wanted.threshold ?? 0.5,
    prefix_padding_ms: wanted.prefix_padding_ms ?? 300,
    silence_duration_ms: wanted.silence_duration_ms ?? 500,
    ...gates,
  };
}

/** Quiet that ends a turn, in ms. */
export function turnSilenceMs(detection: TurnDetection): number {
  if (detection.type === 'server_vad') return detection.silence_duration_ms ?? 500;
  switch (detection.eagerness) {
    case 'high':
      return 300;
    case 'low':
      return 1200;
    default:
      return 600;
  }
}

function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
