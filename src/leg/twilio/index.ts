export * from './accept.ts';
export * from './gaps.ts';
export * from './leg.ts';
export * from './protocol.ts';
