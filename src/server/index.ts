export type { Desk } from './desk.ts';
export type { ReadyCheck } from './health.ts';
export * from './limits.ts';
export type { ListeningAddress } from './listen.ts';
export * from './voice-server.ts';
