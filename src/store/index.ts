export * from './approval-contract.ts';
export * from './approval-guard-contract.ts';
export * from './contract.ts';
export * from './media-contract.ts';
export { openStore, type StoreOptions } from './open.ts';
export { beginSqliteThread } from './sqlite/sqlite-store.ts';
