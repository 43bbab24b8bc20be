/**
 * Who speaks which flavour of the realtime dialect. A server differs from its neighbours in this data and in no
 * code; a new one is a new row.
 *
 * @module
 */

import { type AudioFormat, PCM16_8K, PCM16_16K, PCM16_24K, PCMU_8K } from '../../audio/index.ts';

/** The providers this adapter serves; a subset of `channels.realtime.model.provider`. */
export type OpenAiProvider = 'openai' | 'azure' | 'xai' | 'openai-compatible';

export interface DialectProfile {
  readonly provider: OpenAiProvider;
  /** Name for the start banner. */
  readonly label: string;
  /** Where it lives when the config names no `baseUrl`; `null` when the operator has to name one. */
  readonly defaultUrl: string | null;
  /** Path of the realtime endpoint under a `baseUrl` that has none. */
  readonly path: string;
  readonly auth: { readonly header: 'Authorization' | 'api-key'; readonly prefix: 'Bearer ' | '' };
  /** Whether a session without a key makes no sense. */
  readonly keyRequired: boolean;
  /** Best first. */
  readonly inputFormats: readonly AudioFormat[];
  readonly outputFormats: readonly AudioFormat[];
  readonly session: {
    /** `session.type: 'realtime'`, mandatory in the GA dialect. */
    readonly hasType: boolean;
    readonly voiceAt: 'audio.output' | 'root';
    readonly turnDetectionAt: 'audio.input' | 'root';
    readonly turnDetections: readonly ('server_vad' | 'semantic_vad')[];
    /** Whether the transcription model is ours to choose. */
    readonly transcription: 'configurable' | 'fixed';
  };
  /**
   * How `response.created` is matched to our request: by the `metadata` that comes back in it, or, where a
   * server may drop that, by order.
   */
  readonly correlation: 'metadata' | 'order';
  readonly canTruncate: boolean;
  readonly canCancel: boolean;
  /** Names of its own voices, where they are known and nothing else works; a custom voice's id starts with `voice_`. */
  readonly voices: readonly string[] | null;
  /** What the name of every model that can be spoken with looks like, where that is known. */
  readonly modelName: RegExp | null;
  /** Longest session in ms; `null` when there is no known limit. */
  readonly maxSessionMs: number | null;
}

const PCMA_8K: AudioFormat = { encoding: 'pcma', sampleRate: 8000 };
const PCM16_48K: AudioFormat = { encoding: 'pcm16', sampleRate: 48000 };
const HOUR_MS = 3_600_000;

/** https://platform.openai.com/docs/guides/realtime ; a session ends after 60 minutes. */
const openai: DialectProfile = {
  provider: 'openai',
  label: 'OpenAI',
  defaultUrl: 'wss://api.openai.com/v1/realtime',
  path: '/v1/realtime',
  auth: { header: 'Authorization', prefix: 'Bearer ' },
  keyRequired: true,
  inputFormats: [PCMU_8K, PCM16_24K, PCMA_8K],
  outputFormats: [PCMU_8K, PCM16_24K, PCMA_8K],
  session: {
    hasType: true,
    voiceAt: 'audio.output',
    turnDetectionAt: 'audio.input',
    turnDetections: ['server_vad', 'semantic_vad'],
    transcription: 'configurable',
  },
  correlation: 'metadata',
  canTruncate: true,
  canCancel: true,
  voices: ['alloy', 'ash', 'ballad', 'cedar', 'coral', 'echo', 'marin', 'sage', 'shimmer', 'verse'],
  modelName: /realtime|^gpt-audio/,
  maxSessionMs: HOUR_MS,
};

export const DIALECT_PROFILES: Readonly<Record<OpenAiProvider, DialectProfile>> = {
  openai,
  /** The GA endpoint of a resource; the model of the config is the name of the deployment. */
  azure: {
    ...openai,
    provider: 'azure',
    label: 'Azure OpenAI',
    defaultUrl: null,
    path: '/openai/v1/realtime',
    auth: { header: 'api-key', prefix: '' },
    modelName: null,
  },
  /** https://docs.x.ai ; GA event names with a flatter session, cumulative transcripts of the caller. */
  xai: {
    ...openai,
    provider: 'xai',
    label: 'xAI',
    defaultUrl: 'wss://api.x.ai/v1/realtime',
    inputFormats: [PCMU_8K, PCM16_24K, PCMA_8K, PCM16_8K, PCM16_16K, PCM16_48K],
    outputFormats: [PCMU_8K, PCM16_24K, PCMA_8K, PCM16_8K, PCM16_16K, PCM16_48K],
    session: {
      hasType: false,
      voiceAt: 'root',
      turnDetectionAt: 'root',
      turnDetections: ['server_vad'],
      transcription: 'fixed',
    },
    correlation: 'order',
    voices: null,
    modelName: null,
  },
  /** Anything self-hosted that speaks GA; what it leaves out is tolerated. */
  'openai-compatible': {
    ...openai,
    provider: 'openai-compatible',
    label: 'an OpenAI-compatible server',
    defaultUrl: null,
    keyRequired: false,
    correlation: 'order',
    voices: null,
    modelName: null,
    maxSessionMs: null,
  },
};
