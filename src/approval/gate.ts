/**
 * The gate in front of the registry: climbs the ladder for every call that the policy names, and answers at once. It
 * never waits for a person.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import type { GatedCall, GateVerdict, ToolGate } from '../gateway/index.ts';
import type { Logger } from '../observe/index.ts';
import type { ApprovalRow } from '../store/index.ts';
import type { Approvals } from './approvals.ts';
import { argumentsObject } from './canonical-json.ts';
import { coveringGrant, isGrantedByConfig } from './grants.ts';
import { climb, staticRung } from './ladder.ts';
import { deniedByPolicyResult, pendingResult, stagedResult, unapprovableResult } from './outcome-texts.ts';
import type { Policy } from './policy.ts';
import { redact } from './redact.ts';
import { takeReplayToken } from './replay-token.ts';
import { argumentsHash } from './replay-worker.ts';
import { summarize } from './summary.ts';

/** Who can be asked on the line, as the gate needs to know it. */
export interface LiveApprovers {
  /** Whether somebody on this call may decide about this tool, or can still show that they may. */
  canAsk(callId: string, tool: string): Promise<boolean>;
  /** Name of the person on the line, where they are authenticated. */
  callerName(callId: string): string | null;
  /** Puts the request in line for the floor; `false` when nobody would ever hear it. */
  ask(record: ApprovalRow): boolean;
}

export interface ApprovalGateOptions {
  readonly approvals: Approvals;
  readonly live: LiveApprovers;
  readonly policy: () => Policy;
  /** Approvals are off for this process. */
  readonly off: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RUN: GateVerdict = { run: true };
const answer = (result: Extract<GateVerdict, { run: false }>['result']): GateVerdict => ({
  run: false,
  result,
});

export class ApprovalGate implements ToolGate {
  readonly #options: ApprovalGateOptions;

  constructor(options: ApprovalGateOptions) {
    this.#options = options;
  }

  concerns(name: string): boolean {
    const { policy, off } = this.#options;
    return staticRung(policy(), name, off)?.verdict !== 'allow';
  }

  async check(call: GatedCall): Promise<GateVerdict> {
    try {
      return await this.#check(call);
    } catch (error) {
      const code = isVoiceError(error) ? error.code : 'INTERNAL';
      this.#options.logger.warn({ code, tool: call.name }, 'a gated call was refused');
      // Whatever went wrong, nothing runs.
      const why =
        code === 'REQUEST_INVALID'
          ? 'its arguments can not be shown to a person as they are.'
          : 'the approval could not be asked for.';
      return answer(unapprovableResult(call.name, why));
    }
  }

  async #check(call: GatedCall): Promise<GateVerdict> {
    const { policy: current, off, approvals, live } = this.#options;
    const policy = current();
    const tool = call.name;
    const settled = staticRung(policy, tool, off);
    if (settled) return settled.verdict === 'allow' ? RUN : answer(deniedByPolicyResult(tool));

    const args = argumentsObject(call.args);
    const { json, hash } = argumentsHash(args);
    const { sessionKey } = call;
    const callId = call.callId ?? null;
    const token = takeReplayToken({ sessionKey, tool, argsHash: hash });
    const grant = token ? null : await this.#grant(policy, tool, callId, sessionKey, args);
    const canAskInline = callId !== null && (await live.canAsk(callId, tool));
    const { verdict } = climb({ policy, tool, off, hasToken: token !== null, grant, canAskInline });
    if (verdict === 'allow') return RUN;

    const inline = verdict === 'inline';
    const { inline: line, deferred, approvers } = policy.config;
    const lifeMs = inline ? line.deadlineS * 1000 : deferred.pendingTtlHours * 3_600_000;
    const record = await approvals.request({
      sessionKey,
      channel: call.channel,
      chatId: call.chatId,
      callId,
      toolCallId: call.toolCallId ?? null,
      tool,
      args: json,
      argsShown: JSON.stringify(redact(JSON.parse(json))),
      argsHash: hash,
      summary: summarize(tool, args),
      requester: (callId === null ? null : live.callerName(callId)) ?? `${call.channel}:${call.chatId}`,
      approvers: approvers.length === 0 ? null : approvers.map(({ name }) => name),
      mode: inline ? 'inline' : 'deferred',
      minInput: policy.minimumInput(tool),
      expiresAt: this.#options.clock.wallNow() + lifeMs,
    });
    if (!record) return answer(unapprovableResult(tool, 'too many requests wait for a person already.'));
    if (record.mode === 'inline') {
      if (live.ask(record)) return answer(pendingResult(tool, record.id));
      // Nobody would hear the prompt: it is never waited for in silence.
      await approvals.defer(record);
    }
    return answer(stagedResult(tool, record.id));
  }

  async #grant(
    policy: Policy,
    tool: string,
    callId: string | null,
    sessionKey: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<'call' | 'session' | 'permanent' | null> {
    if (isGrantedByConfig(policy.config.grants, tool, args)) return 'permanent';
    const tenant = policy.config.deferred.tenant;
    const grants = await this.#options.approvals.store.listGrants({ tenant, tool, callId, sessionKey });
    return coveringGrant(grants, args);
  }
}
