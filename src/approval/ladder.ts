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

/** The rungs that need nothing but the policy; `null` when the call waits for more to be known. */
export function staticRung({
  policy,
  tool,
  off,
}: Pick<LadderFacts, 'policy' | 'tool' | 'off'>): LadderVerdict | null {
  if (!policy.enabled) return { rung: 'off', verdict: 'allow' };
  if (policy.isDenied(tool)) return { rung: 'deny', verdict: 'deny' };
  if (!policy.isDesignated(tool)) return { rung: 'not_designated', verdict: 'allow' };
  if (off) return { rung: 'approvals_off', verdict: 'allow' };
  return null;
}

export function climb(facts: LadderFacts): LadderVerdict {
  const settled = staticRung(facts);
  if (settled) return settled;
  const { policy, tool } = facts;
  if (facts.hasToken) return { rung: 'token', verdict: 'allow' };
  if (facts.grant !== null) return { rung: 'grant', verdict: 'allow' };
  if (!facts.canAskInline) return { rung: 'unattended', verdict: 'deferred' };
  if (policy.isForcedDeferred(tool)) return { rung: 'force_deferred', verdict: 'deferred' };
  if (policy.mayAskInline(tool)) return { rung: 'allow_inline', verdict: 'inline' };
  return { rung: 'default_mode', verdict: policy.config.defaultMode };
}
