/**
 * What the end of an asking means for its record, and what is said about it; and what a hang-up means for a request that
 * nobody had decided.
 *
 * @module
 */

import type { ApprovalRow } from '../../store/index.ts';
import type { Refusal } from '../decision.ts';
import type { Asking, End, Waiting } from './asking.ts';
import type { LineOptions } from './line-options.ts';
import type { PersonOnLine } from './person-on-line.ts';
import type { Wording } from './wording.ts';

export class Conclusion {
  readonly #options: LineOptions;
  readonly #person: PersonOnLine;
  readonly #say: (text: string) => Promise<void>;

  /** @param say - says a text if the line is still there */
  constructor(options: LineOptions, person: PersonOnLine, say: (text: string) => Promise<void>) {
    this.#options = options;
    this.#person = person;
    this.#say = say;
  }

  /** @returns the request, when it is to be asked again on this line */
  async conclude(asking: Asking, end: End): Promise<Waiting | null> {
    const { approvals, wording, floor } = this.#options;
    const { outcome } = wording;
    const { record, wasDeferred } = asking;
    switch (end.kind) {
      case 'decided':
        await this.#decide(asking, end);
        return null;
      case 'elsewhere':
        await this.#say(outcomeOf(end.record, wording));
        return null;
      case 'unanswered':
        await (wasDeferred ? approvals.defer(record) : approvals.expire(record));
        await this.#say(wasDeferred ? outcome.deferred : outcome.expired);
        return null;
      case 'unheard':
      case 'not_authenticated':
        // Nobody could have answered: it waits for somebody who can.
        if (await approvals.defer(record)) this.#tellDeferred(record);
        await this.#say(end.kind === 'unheard' ? outcome.deferred : wording.pinFailed);
        return null;
      case 'again': {
        const again = await approvals.reconnect(record, floor.callId, record.expiresAt);
        return again && { record: again, wasDeferred };
      }
      case 'gone':
        return null;
      default:
        return end satisfies never;
    }
  }

  /** What a hang-up does to a request. */
  async leave({ record, wasDeferred }: Waiting, lost: boolean): Promise<void> {
    const { approvals, clock } = this.#options;
    const { onHangup, reconnectGraceS } = this.#options.policy().config.inline;
    if (wasDeferred || onHangup === 'defer') await approvals.defer(record);
    else if (lost) await approvals.disconnect(record, clock.wallNow() + reconnectGraceS * 1000);
    else await approvals.cancel(record, 'the caller hung up');
  }

  async #decide({ record }: Asking, end: Extract<End, { kind: 'decided' }>): Promise<void> {
    const { approvals, wording } = this.#options;
    const { outcome } = wording;
    const result = await approvals.decide({
      id: record.id,
      approve: end.approve,
      by: this.#person.name ?? '',
      input: end.input,
      scope: end.scope,
      generation: record.generation,
      ...(end.why === 'wrong_code' ? { reason: 'three wrong entries' } : {}),
    });
    if (!result.ok) await this.#notTaken(record, result.why);
    else if (end.approve) await this.#say(outcome.approved);
    else await this.#say(end.why === 'wrong_code' ? outcome.wrongCode : outcome.denied);
  }

  async #notTaken(record: ApprovalRow, why: Refusal): Promise<void> {
    const { approvals, wording } = this.#options;
    if (why === 'expired') return this.#say(wording.outcome.expired);
    // The policy was tightened while it was asked: it waits for somebody who may.
    if (why !== 'already_decided' && (await approvals.defer(record))) {
      this.#tellDeferred(record);
      return this.#say(wording.outcome.deferred);
    }
    return this.#say(wording.outcome.elsewhere);
  }

  #tellDeferred({ id, tool }: ApprovalRow): void {
    this.#options.floor.tell(
      `Request ${id} (${tool}) is now waiting for a person's approval elsewhere. Nothing ran. Do not call it again; if it is approved in time it runs by itself and its result follows.`,
    );
  }
}

function outcomeOf(record: ApprovalRow, { outcome }: Wording): string {
  switch (record.status) {
    case 'approved':
    case 'executing':
    case 'executed':
      return outcome.approved;
    case 'denied':
      return outcome.denied;
    case 'expired':
      return outcome.expired;
    default:
      return outcome.elsewhere;
  }
}
