/**
 * The calls that can be asked, by their ids and by their sessions.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import type { Logger } from '../../observe/index.ts';
import type { Recogniser } from '../../speech/index.ts';
import type { ApprovalRow } from '../../store/index.ts';
import type { Approvals } from '../approvals.ts';
import type { LiveApprovers } from '../gate.ts';
import type { Policy } from '../policy.ts';
import { CallApprovals } from './call-approvals.ts';
import type { ApprovalFloor, FloorLine } from './floor.ts';
import { PinGuard } from './pins.ts';
import type { Wording } from './wording.ts';

export interface InlineApprovalsOptions {
  readonly approvals: Approvals;
  readonly policy: () => Policy;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wording: Wording;
  readonly locale: string;
  readonly recogniser: Recogniser | null;
  /** A session is on the line: what it is owed may be told. */
  readonly onAttached?: (sessionKey: string) => void;
  readonly random?: (below: number) => number;
}

export class InlineApprovals implements LiveApprovers {
  readonly #options: InlineApprovalsOptions;
  readonly #calls = new Map<string, CallApprovals>();
  readonly #pins: PinGuard;

  constructor(options: InlineApprovalsOptions) {
    this.#options = options;
    this.#pins = new PinGuard(options.approvals.store, options.clock);
  }

  /** Calls attached; for leak tests. */
  get size(): number {
    return this.#calls.size;
  }

  /** A caller is on the line. What their session was being asked when it was cut off is asked again. */
  attach(floor: ApprovalFloor): FloorLine {
    const { onAttached, random, ...shared } = this.#options;
    const call = new CallApprovals({ ...shared, floor, pins: this.#pins, ...(random ? { random } : {}) });
    this.#calls.set(floor.callId, call);
    const hungUp = call.hungUp.bind(call);
    call.hungUp = (lost) => {
      if (this.#calls.get(floor.callId) === call) this.#calls.delete(floor.callId);
      hungUp(lost);
    };
    this.#bringBack(call).catch((error: unknown) => {
      const code = isVoiceError(error) ? error.code : null;
      this.#options.logger.warn({ code }, 'waiting approvals could not be brought back');
    });
    onAttached?.(floor.sessionKey);
    return call;
  }

  async canAsk(callId: string, tool: string): Promise<boolean> {
    return (await this.#calls.get(callId)?.canAsk(tool)) ?? false;
  }

  callerName(callId: string): string | null {
    return this.#calls.get(callId)?.person ?? null;
  }

  ask(record: ApprovalRow): boolean {
    return record.callId !== null && (this.#calls.get(record.callId)?.ask(record) ?? false);
  }

  /** Tells the model of the call that asked, or of another one of its session; `false` when neither is live. */
  tell({ callId, sessionKey }: Pick<ApprovalRow, 'callId' | 'sessionKey'>, text: string): boolean {
    const call = this.#callOf({ callId, sessionKey });
    call?.floor.tell(text);
    return call !== null;
  }

  /** Whether the call that asked, or another one of its session, is live here. */
  isLive(whose: Pick<ApprovalRow, 'callId' | 'sessionKey'>): boolean {
    return this.#callOf(whose) !== null;
  }

  #callOf({ callId, sessionKey }: Pick<ApprovalRow, 'callId' | 'sessionKey'>): CallApprovals | null {
    const asked = callId === null ? undefined : this.#calls.get(callId);
    return asked ?? [...this.#calls.values()].find(({ floor }) => floor.sessionKey === sessionKey) ?? null;
  }

  async #bringBack(call: CallApprovals): Promise<void> {
    const { approvals, policy, clock } = this.#options;
    const { sessionKey, callId } = call.floor;
    const pending = await approvals.store.listApprovals({ status: ['pending'], sessionKey, limit: 16 });
    const { config } = policy();
    for (const record of pending.reverse()) {
      // Prompts of this very call are its own; what was never to be asked on a line is not asked now.
      if (record.callId === callId || record.callId === null || !(await call.canAsk(record.tool))) continue;
      if (this.#calls.has(record.callId) || policy().isForcedDeferred(record.tool)) continue;
      const wasDeferred = record.mode === 'deferred';
      if (wasDeferred && record.promptedAt === null) continue;
      const until = clock.wallNow() + config.inline.deadlineS * 1000;
      const bound = await approvals.reconnect(record, callId, until);
      if (bound) call.ask(bound, wasDeferred);
    }
  }
}
