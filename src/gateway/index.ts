export * from './contract.ts';
export * from './context.ts';
export * from './facade.ts';
