export * from './capabilities.ts';
export * from './credentials.ts';
export * from './leg.ts';
export * from './peers.ts';
