/**
 * Which model answers: what the config names, OpenAI's when there is a key, else the offline one.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { type CommandModelFactoryOptions, createCommandModelFactory } from '../model/command/index.ts';
import type { RealtimeModelFactory } from '../model/index.ts';
import { createOpenAiModelFactory } from '../model/openai/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Synthesiser } from '../speech/index.ts';

/** Environment variable of each provider's key. */
export const KEY_VARIABLES = {
  openai: 'OPENAI_API_KEY',
  azure: 'AZURE_OPENAI_API_KEY',
  xai: 'XAI_API_KEY',
  'openai-compatible': 'OPENAI_API_KEY',
} as const;

export interface ModelParts {
  readonly config: RealtimeConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly synthesiser: Synthesiser;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values of the offline model's slots, e.g. the workspace's file names. */
  readonly slotValues?: CommandModelFactoryOptions['slotValues'];
}

/** @throws VoiceError `CONFIG_INVALID`, `PHRASE_INVALID` */
export function createModels(parts: ModelParts): RealtimeModelFactory {
  const { config, clock, logger, synthesiser, env } = parts;
  // Under any policy but the first detector's, it is ours to decide what an interruption is.
  const interruptResponse = config.interruption.policy === 'immediate';
  const provider =
    config.model.provider === 'auto'
      ? (config.model.apiKey ?? env.OPENAI_API_KEY)
        ? 'openai'
        : 'command'
      : config.model.provider;
  if (provider === 'command') {
    return createCommandModelFactory({
      locale: config.locale,
      phrasesFile: config.phrasesFile,
      synthesiser,
      clock,
      logger,
      slotValues: parts.slotValues,
      interruptResponse,
      endpointing: {
        startThreshold: config.model.turnDetection.threshold,
        silenceMs: config.model.turnDetection.silenceDurationMs,
      },
    });
  }
  return createOpenAiModelFactory({
    config: { ...config.model, provider },
    apiKey: config.model.apiKey ?? env[KEY_VARIABLES[provider]],
    clock,
    logger,
    interruptResponse,
  });
}
