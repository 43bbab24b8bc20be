export type { HostConfig, McpServerConfig, ProviderConfig } from './host-config.ts';
export * from './load.ts';
