export * from './completions.ts';
export * from './contract.ts';
export * from './endpoint.ts';
