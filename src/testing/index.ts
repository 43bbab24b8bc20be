export { VirtualClock, type VirtualClockOptions } from '../clock-virtual.ts';
export * from './fake-clock.ts';
export * from './fake-model.ts';
export { CLIENT_EVENT_TYPES, type ClientEvent } from './model/client-event-schema.ts';
export type { ConversationItem } from './model/conversation.ts';
export { DEFAULT_TIMING, type FakeTiming } from './model/fake-response.ts';
export type { FakeModelSession, Violation, WireEvent } from './model/fake-session.ts';
export * from './model/script.ts';
export type { EffectiveSession } from './model/session-config.ts';
