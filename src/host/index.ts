export * from './bus/index.ts';
export { FileStateStore, MAX_FILE_STATE_SESSIONS } from './guards/file-states.ts';
export {
  type PinnedAddress,
  type Resolver,
  SsrfPolicy,
  type SsrfPolicyOptions,
  type UrlVerdict,
} from './guards/ssrf-policy.ts';
export { WorkspacePolicy, type WorkspacePolicyOptions } from './guards/workspace-policy.ts';
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
export * from './config/index.ts';
