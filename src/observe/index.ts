export { MAX_EMBEDDED_WAV_BYTES, renderCallPage } from './call-page.ts';
export * from './call-record.ts';
export * from './log.ts';
