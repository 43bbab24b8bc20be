export {
  Approvals,
  type ApprovalsEvents,
  INLINE_RUN_MS,
  MAX_OUTCOME_CHARS,
  MAX_PENDING,
  MAX_PENDING_PER_SESSION,
} from './approvals.ts';
export { type BusSender, findApproval, REFUSAL_TEXTS } from './bus-commands.ts';
export { type CardRequest, MAX_CARDS_UNDER_WAY, type SendCard } from './cards/card-sender.ts';
export type { WebhookDecision } from './cards/decision.ts';
export { MATTERMOST_PATH, readMattermost } from './cards/mattermost.ts';
export { readSigned } from './cards/signed.ts';
export { readSlack, verifySlack } from './cards/slack.ts';
export {
  type DecideResult,
  type Decision,
  type DecisionInput,
  type GrantScope,
  OPERATOR,
  type Refusal,
  refusalOf,
} from './decision.ts';
export { MAX_EAR_MS } from './inline/ear.ts';
export type { ApprovalFloor, FloorLine } from './inline/floor.ts';
export { InlineApprovals } from './inline/inline-approvals.ts';
export { OperatorSecret } from './operator-secret.ts';
export { nameMatcher } from './patterns.ts';
export { APPROVALS_OFF_VARIABLE, type Policy } from './policy.ts';
export { type EditOutcome, PolicyKeeper } from './policy-keeper.ts';
export { MAX_RUNNING } from './replay-worker.ts';
export {
  ApprovalSystem,
  type ApprovalSystemOptions,
  createApprovals,
  createLateGate,
  type HostParts,
  SWEEP_EVERY_MS,
} from './system.ts';
