export * from './bus/index.ts';
