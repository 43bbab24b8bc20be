export { startMetrics } from './metrics.ts';
export { Primary, type PrimaryOptions } from './primary.ts';
export { type Begun, beginWorker } from './slot.ts';
