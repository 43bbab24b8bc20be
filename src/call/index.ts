export { Call, type CallEvents } from './call.ts';
export { type CallerIdentity, chatIdOf, type IdentityStrength, isAtLeast } from './caller.ts';
export { CallDesk, CLAIM_TIMEOUT_MS } from './desk.ts';
export { composeInstructions, type InstructionParts } from './instructions.ts';
export type { CallerInfo, CallOptions, CallParts } from './options.ts';
export type { CallProgress } from './progress.ts';
export { type CallPrompts, loadPrompts } from './prompts.ts';
export { defaultToolPolicy } from './tool-policy.ts';
export type { ToolEndPolicy, ToolPolicy } from './tools.ts';
