export * from './link.ts';
export * from './parts.ts';
export * from './playout.ts';
export * from './protocol.ts';
export * from './socket-leg.ts';
