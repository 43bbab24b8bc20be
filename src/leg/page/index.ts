export * from './link.ts';
export * from './parts.ts';
export * from './protocol.ts';
export * from './socket-leg.ts';
