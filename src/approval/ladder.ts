/**
 * The decision ladder: the first rung that matches wins. Pure; what it must know of the store is handed in.
 *
 * @module
 */

import type { Policy } from './policy.ts';

export interface LadderFacts {
  readonly policy: Policy;
  readonly tool: string;
  /** Approvals are off for this process; frozen at start. */
  readonly off: boolean;
  /** A one-shot replay token fits this very call, name and arguments. */
  readonly hasToken: boolean;
  /** The narrowest grant that covers this call. */
  readonly grant: 'call' | 'session' | 'permanent' | null;
  /** An authenticated person, or one who can still become it by a PIN, is on the line and may decide this. */
  readonly canAskInline: boolean;
}

export type Rung =
  | 'off'
  | 'deny'
  | 'not_designated'
  | 'approvals_off'
  | 'token'
  | 'grant'
  | 'unattended'
  | 'force_deferred'
  | 'allow_inline'
  | 'default_mode';

export interface LadderVerdict {
  readonly rung: Rung;
  readonly verdict: 'allow' | 'deny' | 'inline' | 'deferred';
}

/** One of each for all calls: most tools are not designated, and the gate is in front of every call. */
const OFF: LadderVerdict = { rung: 'off', verdict: 'allow' };
const DENY: LadderVerdict = { rung: 'deny', verdict: 'deny' };
const NOT_DESIGNATED: LadderVerdict = { rung: 'not_designated', verdict: 'allow' };
const APPROVALS_OFF: LadderVerdict = { rung: 'approvals_off', verdict: 'allow' };

/** The rungs that need nothing but the policy; `null` when the call waits for more to be known. */
export function staticRung(policy: Policy, tool: string, off: boolean): LadderVerdict | null {
  if (!policy.enabled) return OFF;
  if (policy.isDenied(tool)) return DENY;
  if (!policy.isDesignated(tool)) return NOT_DESIGNATED;
  if (off) return APPROVALS_OFF;
  return null;
}

export function climb(facts: LadderFacts): LadderVerdict {
  const { policy, tool } = facts;
  const settled = staticRung(policy, tool, facts.off);
  if (settled) return settled;
  if (facts.hasToken) return { rung: 'token', verdict: 'allow' };
  if (facts.grant !== null) return { rung: 'grant', verdict: 'allow' };
  if (!facts.canAskInline) return { rung: 'unattended', verdict: 'deferred' };
  if (policy.isForcedDeferred(tool)) return { rung: 'force_deferred', verdict: 'deferred' };
  if (policy.mayAskInline(tool)) return { rung: 'allow_inline', verdict: 'inline' };
  return { rung: 'default_mode', verdict: policy.config.defaultMode };
}
