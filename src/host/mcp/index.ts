export { MAX_TOOLS_PER_SERVER, MCP_RESTART_DELAYS_MS, MCP_STABLE_MS } from './limits.ts';
export * from './servers.ts';
export { mcpToolName } from './tool.ts';
