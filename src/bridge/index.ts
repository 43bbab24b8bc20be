export { Bridge, type BridgeOptions } from './bridge.ts';
export { AGENT_TOOLS, type BridgeParts, type Composition } from './compose.ts';
