export * from './plugin-api.ts';
export * from './plugin-token.ts';
