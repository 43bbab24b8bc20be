export * from './context.ts';
export * from './contract.ts';
export * from './delegate.ts';
export * from './facade.ts';
export * from './gate.ts';
