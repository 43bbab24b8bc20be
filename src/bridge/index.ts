export { Bridge, type BridgeOptions } from './bridge.ts';
export { AGENT_TOOLS } from './bridge-gate.ts';
export type { Composition } from './compose.ts';
export type { BridgeParts } from './parts.ts';
