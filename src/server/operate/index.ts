export { CallRecords, type CallRecordsOptions, MAX_KEPT_RECORD_BYTES } from './call-records.ts';
export { callRoutes, MAX_LISTED } from './call-routes.ts';
export { deliveryRoutes } from './delivery-routes.ts';
export { type LatencyFigures, latencyFigures, percentiles } from './latency.ts';
export { type ConfiguredPart, statusRoutes } from './status-routes.ts';
