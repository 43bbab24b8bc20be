/**
 * What other packages may import; nothing else is public.
 *
 * @example
 * ```ts
 * import { RealtimeVoiceChannel } from 'nanobot-channel-realtime';
 *
 * const channel = new RealtimeVoiceChannel({ greeting: 'Hello!' }, bus, { toolGateway });
 * await channel.start();
 * ```
 *
 * @module
 */

export type { AudioData, AudioEncoding, AudioFormat, SampleRate } from './audio/index.ts';
export {
  CallDesk,
  type CallerIdentity,
  type CallerInfo,
  type CallProgress,
  type IdentityStrength,
} from './call/index.ts';
export {
  CHANNEL_NAME,
  type ChannelMessage,
  type ChannelParts,
  type RealtimeChannelOptions,
  RealtimeVoiceChannel,
} from './channel/index.ts';
export { type Clock, type ClockTimer, realClock } from './clock.ts';
export { VirtualClock } from './clock-virtual.ts';
export { type RealtimeConfig, type RealtimeConfigInput, realtimeConfigSchema } from './config.ts';
export { ERRORS, type ErrorCode, isVoiceError, VoiceError } from './errors.ts';
export {
  createToolGatewayFacade,
  type ExecuteToolOptions,
  type ToolContentBlock,
  type ToolDefinition,
  type ToolGateway,
  type ToolResult,
} from './gateway/index.ts';
export { type MediaToolDefinition, mediaTool } from './host/index.ts';
export type { CallLeg, CallLegEvents, LegCapabilities, LegCloseReason } from './leg/index.ts';
export { type MadeMedia, Media, type MediaOptions, type MediaRunContext } from './media/index.ts';
export type {
  HistoryItem,
  ModelCapabilities,
  ModelSessionConfig,
  RealtimeModel,
  RealtimeModelEvents,
  RealtimeModelFactory,
} from './model/index.ts';
export type { CallRecord } from './observe/index.ts';
export type { Synthesiser } from './speech/index.ts';
export type { Store } from './store/index.ts';
