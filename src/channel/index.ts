export { REQUEST_MARK } from './bus-delegate.ts';
export { createModels, KEY_VARIABLES, type ModelParts } from './models.ts';
export {
  CHANNEL_NAME,
  type ChannelMessage,
  type ChannelParts,
  lineOf,
  type RealtimeChannelOptions,
  RealtimeVoiceChannel,
} from './realtime-channel.ts';
