/**
 * Sessions with one server, one for each call.
 *
 * @module
 */

import { type Clock, realClock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import { type Logger, silentLogger } from '../../observe/index.ts';
import type { ModelCapabilities, RealtimeModelFactory } from '../contract.ts';
import { endpointOf } from './endpoint.ts';
import { OpenAiModel } from './openai-model.ts';
import { DIALECT_PROFILES, type DialectProfile, type OpenAiProvider } from './profiles.ts';
import { type OpenModelSocket, openWebSocket } from './socket.ts';

export interface OpenAiModelFactoryOptions {
  /** `channels.realtime.model`; `provider: 'auto'` means `openai` here. */
  readonly config: RealtimeConfig['model'];
  /** The key; `undefined` for a self-hosted server that wants none. Never logged. */
  readonly apiKey: string | undefined;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /**
   * Whether the server cancels its response when the caller speaks. Turn it off when our own policy decides
   * what counts as an interruption.
   *
   * @defaultValue true
   */
  readonly interruptResponse?: boolean;
  /** @defaultValue a WebSocket */
  readonly openSocket?: OpenModelSocket;
}

/**
 * @throws VoiceError `CONFIG_INVALID` when address or key is missing, or the provider can't do what is configured
 */
export function createOpenAiModelFactory(options: OpenAiModelFactoryOptions): RealtimeModelFactory {
  const { config, apiKey, clock = realClock, logger = silentLogger, openSocket = openWebSocket } = options;
  const profile = DIALECT_PROFILES[providerOf(config.provider)];
  const endpoint = endpointOf(profile, config.model, config.baseUrl, apiKey);
  if (!profile.session.turnDetections.includes(config.turnDetection.type)) {
    const known = profile.session.turnDetections.join(', ');
    throw new VoiceError('CONFIG_INVALID', `model.turnDetection.type: ${profile.label} knows ${known}.`);
  }
  checkNames(profile, config);
  const capabilities: ModelCapabilities = {
    provider: profile.provider,
    inputFormats: profile.inputFormats,
    outputFormats: profile.outputFormats,
    canTruncate: profile.canTruncate,
    canCancel: profile.canCancel,
    style: 'turns',
    interruptsItself: options.interruptResponse ?? true,
    maxSessionMs: profile.maxSessionMs,
  };
  return {
    capabilities,
    description: `${config.model} of ${profile.label} at ${endpoint.host}`,
    create: () => new OpenAiModel({ profile, config, endpoint, capabilities, clock, logger, openSocket }),
    close: async () => {},
  };
}

/** A wrong name is refused here, by an operator's screen, and not on the first call: some are answered with noise. */
function checkNames(
  { label, voices, modelName }: DialectProfile,
  { model, voice }: RealtimeConfig['model'],
): void {
  if (modelName !== null && !modelName.test(model)) {
    throw new VoiceError('CONFIG_INVALID', `model.model: "${model}" is no realtime model of ${label}.`);
  }
  if (voices === null || voices.includes(voice) || voice.startsWith('voice_')) return;
  throw new VoiceError(
    'CONFIG_INVALID',
    `model.voice: ${label} has ${voices.join(', ')}, and voices of your own, whose id starts with voice_.`,
  );
}

function providerOf(provider: RealtimeConfig['model']['provider']): OpenAiProvider {
  switch (provider) {
    case 'auto':
      return 'openai';
    case 'command':
      throw new VoiceError('CONFIG_INVALID', 'model.provider: `command` is the offline model, not a server.');
    default:
      return provider;
  }
}
