export * from './channel.ts';
export { MAX_CHANNEL_BACKLOG, SEND_RETRY_DELAYS_MS } from './delivery.ts';
export * from './manager.ts';
