export type { BrowserOptions, OperatorArchive, OperatorParts } from './browser-side.ts';
export type { Desk } from './desk.ts';
export type { ReadyCheck } from './health.ts';
export * from './limits.ts';
export type { ListeningAddress } from './listen.ts';
export { CallRecords, type ConfiguredPart } from './operate/index.ts';
export { announceGateway, pluginDataDirectory } from './plugin/index.ts';
export * from './voice-server.ts';
