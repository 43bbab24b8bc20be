export {
  CLOSE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  MAX_BUFFERED_BYTES,
  PING_INTERVAL_MS,
} from './connection.ts';
export * from './factory.ts';
export { MAX_HELD_AUDIO_MS } from './held-audio.ts';
export { MAX_REMEMBERED_ITEMS } from './inbound.ts';
export {
  MAX_HELD_COMMANDS,
  MAX_MALFORMED_EVENTS,
  OpenAiModel,
  type OpenAiModelOptions,
} from './openai-model.ts';
export { DIALECT_PROFILES, type DialectProfile, type OpenAiProvider } from './profiles.ts';
export { MAX_CANCELLED_RESPONSES, MAX_EXPECTED_RESPONSES } from './response-tracker.ts';
export { EXPIRY_NOTICE_MS } from './session-expiry.ts';
export * from './socket.ts';
export { MAX_REMEMBERED_CALLS } from './tool-calls.ts';
