export * from './contract.ts';
export * from './dictionary.ts';
export * from './endpointer.ts';
export { grammarWords, MAX_GRAMMAR_CHARS } from './jsgf.ts';
export * from './recogniser.ts';
export * from './sentences.ts';
export * from './silero.ts';
export * from './synthesiser.ts';
export { JOB_DEADLINE_MS, MAX_QUEUED_JOBS, MAX_WORKER_DEATHS } from './worker-pool.ts';
