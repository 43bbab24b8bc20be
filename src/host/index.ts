export * from './bus/index.ts';
export * from './config/index.ts';
export {
  createEmbeddedHost,
  type EmbeddedHost,
  type EmbeddedHostOptions,
  type SpokenItem,
} from './embedded.ts';
export { FileStateStore, MAX_FILE_STATE_SESSIONS } from './guards/file-states.ts';
export {
  type PinnedAddress,
  type Resolver,
  SsrfPolicy,
  type SsrfPolicyOptions,
  type UrlVerdict,
} from './guards/ssrf-policy.ts';
export { WorkspacePolicy, type WorkspacePolicyOptions } from './guards/workspace-policy.ts';
export { ToolRunner, type ToolRunnerOptions } from './loop/tool-runner.ts';
export {
  type Channel,
  type ChannelBus,
  type ChannelClass,
  type ChannelExtras,
  ChannelManager,
  type ChannelStatus,
  isAllowed,
} from './manager/index.ts';
export { ERROR_HINT, MAX_TOOLS, type RegistryExecuteOptions, ToolRegistry } from './registry.ts';
export {
  isConcurrencySafe,
  type Tool,
  type ToolArguments,
  type ToolCallOptions,
  type ToolOutput,
  toolError,
  toolText,
} from './registry-tool.ts';
export { type BuiltinToolsOptions, createBuiltinTools, type ExecToolConfig } from './tools/index.ts';
export {
  createMediaTools,
  MEDIA_FAILED,
  type MediaToolDefinition,
  mediaTool,
  SEND_FILE,
} from './tools/media/index.ts';
