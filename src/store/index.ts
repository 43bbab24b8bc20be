export * from './approval-contract.ts';
export * from './contract.ts';
export { openStore, type StoreOptions } from './open.ts';
