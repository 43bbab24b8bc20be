export * from './contract.ts';
export * from './socket.ts';
