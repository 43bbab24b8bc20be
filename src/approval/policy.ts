/**
 * The policy in force, compiled from the config; and what becomes of it when the config is edited: the stricter of two.
 *
 * @module
 */

import {
  APPROVAL_INPUTS,
  type ApprovalInput,
  type ApprovalsConfig,
  isGateOn,
  type ToolGateConfig,
} from '../config-approvals.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { nameMatcher } from './patterns.ts';

export interface Policy {
  readonly config: ToolGateConfig;
  /** The gate is on. */
  readonly enabled: boolean;
  /** First 16 hex digits of the SHA-256 of the gate's config; goes into every record. */
  readonly version: string;
  isDenied(tool: string): boolean;
  isDesignated(tool: string): boolean;
  isForcedDeferred(tool: string): boolean;
  mayAskInline(tool: string): boolean;
  /** The weakest input that may approve this tool. */
  minimumInput(tool: string): ApprovalInput;
  /** Names of the arguments that a grant of this tool is bound to. */
  grantArguments(tool: string): readonly string[];
}

/** @param holdsShell - the host's shell has no sandbox: beside a gate it is denied unless `unsafe` is written */
export function compilePolicy(gate: ToolGateConfig, holdsShell = false): Policy {
  const minimums = Object.entries(gate.inline.minimum).map(
    ([pattern, input]) => [nameMatcher([pattern]), input] as const,
  );
  const bound = Object.entries(gate.grantArguments).map(
    ([pattern, names]) => [nameMatcher([pattern]), names] as const,
  );
  const enabled = isGateOn(gate);
  const isDenied = nameMatcher(gate.deny);
  return {
    config: gate,
    enabled,
    version: sha256(canonicalJson(JSON.parse(JSON.stringify(gate)))).slice(0, 16),
    // No host starts so; an edit may bring it about, or a gate that came after the start.
    isDenied: (tool) => isDenied(tool) || (holdsShell && enabled && !gate.unsafe && tool === SHELL),
    isDesignated: nameMatcher(gate.requireApproval),
    isForcedDeferred: nameMatcher(gate.forceDeferred),
    mayAskInline: nameMatcher(gate.allowInline),
    minimumInput: (tool) =>
      strongest(minimums.filter(([matches]) => matches(tool)).map(([, input]) => input)) ?? 'speech',
    grantArguments: (tool) => bound.find(([matches]) => matches(tool))?.[1] ?? [],
  };
}

/** Whether an input is at least as strong as another. */
export function isAtLeastInput(input: ApprovalInput, minimum: ApprovalInput): boolean {
  return APPROVAL_INPUTS.indexOf(input) <= APPROVAL_INPUTS.indexOf(minimum);
}

function strongest(inputs: readonly ApprovalInput[]): ApprovalInput | null {
  return APPROVAL_INPUTS.find((each) => inputs.includes(each)) ?? null;
}

/** What a gate holds back a shell can do by other means: beside a gate it wants `unsafe`. */
const SHELL = 'exec';

const union = (a: readonly string[], b: readonly string[]) => [...new Set([...a, ...b])];
const intersection = <T>(a: readonly T[], b: readonly T[]): T[] => {
  const texts = new Set(b.map((each) => JSON.stringify(each)));
  return a.filter((each) => texts.has(JSON.stringify(each)));
};

/**
 * The stricter of two gates in every point: what an edit may do to running sessions at once. It asks for whatever either
 * asks for, lets decide only whom both let decide, and grants only what both grant.
 */
export function strictest(current: ToolGateConfig, candidate: ToolGateConfig): ToolGateConfig {
  const on = isGateOn(current) || isGateOn(candidate);
  const off = current.enabled === false && candidate.enabled === false;
  const [a, b] = [current.inline, candidate.inline];
  const minimum = { ...a.minimum };
  for (const [pattern, input] of Object.entries(b.minimum)) {
    minimum[pattern] = strongest([input, minimum[pattern] ?? input]) ?? input;
  }
  // A gate that is off asks for nothing; its lists must not come to life because the other's is on.
  const lists = (gate: ToolGateConfig) =>
    isGateOn(gate) ? gate : { ...gate, requireApproval: [], deny: [] };
  const leavesShell = (gate: ToolGateConfig) => gate.unsafe || !isGateOn(gate);
  const [x, y] = [lists(current), lists(candidate)];
  return {
    ...candidate,
    ...(off ? { enabled: false } : { enabled: on ? true : candidate.enabled }),
    requireApproval: union(x.requireApproval, y.requireApproval),
    deny: union(x.deny, y.deny),
    forceDeferred: union(current.forceDeferred, candidate.forceDeferred),
    allowInline: intersection(current.allowInline, candidate.allowInline),
    defaultMode:
      current.defaultMode === 'deferred' || candidate.defaultMode === 'deferred' ? 'deferred' : 'inline',
    approvers: strictestApprovers(current.approvers, candidate.approvers),
    separateRequester: current.separateRequester || candidate.separateRequester,
    grants: intersection(current.grants, candidate.grants),
    grantArguments: mergeArguments(current.grantArguments, candidate.grantArguments),
    unsafe: on ? leavesShell(current) && leavesShell(candidate) : candidate.unsafe,
    inline: {
      timeoutS: Math.min(a.timeoutS, b.timeoutS),
      listenS: Math.min(a.listenS, b.listenS),
      deadlineS: Math.min(a.deadlineS, b.deadlineS),
      reprompts: Math.min(a.reprompts, b.reprompts),
      // Nothing in common: then nobody is asked on the line.
      inputs: intersection(a.inputs, b.inputs),
      minimum,
      onHangup: a.onHangup === 'cancel' || b.onHangup === 'cancel' ? 'cancel' : 'defer',
      reconnectGraceS: Math.min(a.reconnectGraceS, b.reconnectGraceS),
    },
    deferred: {
      pendingTtlHours: Math.min(current.deferred.pendingTtlHours, candidate.deferred.pendingTtlHours),
      tenant: current.deferred.tenant,
      card: {
        assignee: candidate.deferred.card.assignee,
        // A new address learns what waits, and a new secret signs decisions.
        notify: intersection(current.deferred.card.notify, candidate.deferred.card.notify),
        webhooks: intersection(current.deferred.card.webhooks, candidate.deferred.card.webhooks),
      },
    },
  };
}

type Approvers = ToolGateConfig['approvers'];

/** No config can hold this name: the list of those who may decide when two lists have nobody in common. */
const NOBODY: Approvers[number] = { name: '(nobody)', senders: [], webhookUsers: [] };

/**
 * A person may decide only by the ways that both know. A list that is empty knows everybody who is logged in, and no other
 * way; a list without anybody in common must not become an empty one.
 */
function strictestApprovers(a: Approvers, b: Approvers): Approvers {
  if (a.length === 0 && b.length === 0) return [];
  const byLogin = ({ name }: Approvers[number]) => ({ name, senders: [], webhookUsers: [] });
  if (a.length === 0) return b.map(byLogin);
  if (b.length === 0) return a.map(byLogin);
  const both = b.flatMap((candidate) => {
    const known = a.find(({ name }) => name === candidate.name);
    if (!known) return [];
    const { pin, ...rest } = candidate;
    return [
      {
        ...rest,
        ...(pin !== undefined && pin === known.pin ? { pin } : {}),
        senders: intersection(known.senders, candidate.senders),
        webhookUsers: intersection(known.webhookUsers, candidate.webhookUsers),
      },
    ];
  });
  return both.length === 0 ? [NOBODY] : both;
}

function mergeArguments(
  a: ToolGateConfig['grantArguments'],
  b: ToolGateConfig['grantArguments'],
): ToolGateConfig['grantArguments'] {
  const merged = { ...a };
  for (const [pattern, names] of Object.entries(b)) merged[pattern] = union(merged[pattern] ?? [], names);
  return merged;
}

/** Environment variable that lets everything but `deny` pass; read once, when this module is loaded. */
export const APPROVALS_OFF_VARIABLE = 'NANOBOT_REALTIME_APPROVALS';
// Frozen at load: nothing that runs in this process can set it later and be obeyed.
const offByEnvironment = process.env[APPROVALS_OFF_VARIABLE] === 'off';

export function approvalsAreOff(config: ApprovalsConfig): boolean {
  return offByEnvironment || config.mode === 'off';
}
