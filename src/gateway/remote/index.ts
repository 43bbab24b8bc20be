export * from './ndjson.ts';
export * from './peer.ts';
export * from './remote-gateway.ts';
export * from './rpc-errors.ts';
export * from './wire.ts';
