export * from './bus.ts';
export * from './messages.ts';
