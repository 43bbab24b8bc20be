/**
 * The policy in force while the config file is edited. What tightens applies at once; what loosens waits for a restart or
 * an operator's confirmation; a broken edit changes nothing.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import type { Clock, ClockTimer } from '../clock.ts';
import type { ToolGateConfig } from '../config-approvals.ts';
import { isVoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import { compilePolicy, type Policy, strictest } from './policy.ts';

/** How often the file is looked at. */
export const POLICY_POLL_MS = 2000;

export interface PolicyKeeperOptions {
  readonly initial: ToolGateConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The host's shell has no sandbox. */
  readonly holdsShell?: boolean;
  /** Reads the section anew; `null` when the file has not changed. Throws for a broken edit. */
  readonly reload?: () => Promise<ToolGateConfig | null>;
}

export type EditOutcome = 'unchanged' | 'applied' | 'tightened' | 'waiting';

export class PolicyKeeper {
  readonly #options: PolicyKeeperOptions;
  #policy: Policy;
  /** What the file says, when it is looser than what is in force. */
  #waiting: ToolGateConfig | null = null;
  /** The edit that was looked at last. */
  #seen: ToolGateConfig | null = null;
  #timer: ClockTimer | null = null;
  #closed = false;
  #broken = false;

  constructor(options: PolicyKeeperOptions) {
    this.#options = options;
    this.#policy = this.#compile(options.initial);
  }

  get current(): Policy {
    return this.#policy;
  }

  /** An edit that loosens is waiting for a restart or for `confirm`. */
  get isWaiting(): boolean {
    return this.#waiting !== null;
  }

  /** The file can't be read as it is now; the last good policy holds. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** Takes an edit as far as it tightens. */
  offer(candidate: ToolGateConfig): EditOutcome {
    const before = this.#policy.config;
    if (isDeepStrictEqual(candidate, before)) {
      this.#waiting = null;
      return 'unchanged';
    }
    const next = strictest(before, candidate);
    const loosens = !sameGate(next, candidate);
    this.#waiting = loosens ? candidate : null;
    if (sameGate(next, before)) return 'waiting';
    this.#policy = this.#compile(next);
    return loosens ? 'tightened' : 'applied';
  }

  /** The operator wants what the file says, looser as it is. @returns whether there was anything to confirm */
  confirm(): boolean {
    if (!this.#waiting) return false;
    this.#policy = this.#compile(this.#waiting);
    this.#waiting = null;
    return true;
  }

  #compile(gate: ToolGateConfig): Policy {
    return compilePolicy(gate, this.#options.holdsShell);
  }

  start(): void {
    if (!this.#options.reload) return;
    this.#timer ??= this.#options.clock.setTimeout(() => {
      this.#timer = null;
      void this.look().finally(() => {
        if (!this.#closed) this.start();
      });
    }, POLICY_POLL_MS);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.clear();
  }

  /** Looks at the file once. Never rejects. */
  async look(): Promise<void> {
    const { reload, logger } = this.#options;
    try {
      const candidate = (await reload?.()) ?? null;
      if (candidate === null) return;
      this.#broken = false;
      const outcome = this.offer(candidate);
      // A file that has just changed is read more than once.
      const isNews = !isDeepStrictEqual(candidate, this.#seen);
      this.#seen = candidate;
      if (outcome !== 'unchanged' && isNews) {
        logger.warn({ outcome, policy: this.#policy.version }, 'the approvals of the config were edited');
      }
    } catch (error) {
      const code = isVoiceError(error) ? error.code : null;
      const isNews = !this.#broken;
      this.#broken = true;
      if (isNews)
        logger.error({ code }, 'an edit of the config can not be read; the last good approvals hold');
    }
  }
}

/** Whether two gates are the same but for the order of their lists and for `enabled` being written or not. */
function sameGate(a: ToolGateConfig, b: ToolGateConfig): boolean {
  return isDeepStrictEqual(normal(a), normal(b));
}

function normal(gate: ToolGateConfig): unknown {
  const { enabled: _, version: __, ...rest } = { ...gate, version: 0 };
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value))
      return value.map(sorted).sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sorted(each)]));
  };
  return { ...(sorted(rest) as object), on: compilePolicy(gate).enabled };
}
