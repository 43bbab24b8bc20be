/**
 * Answers the host's questions whether a tool may run: the host asks from within the tool, so what it knows of the call
 * that asks is completed here, from our own record of it and never from what the host says about it.
 *
 * @module
 */

import type { ApprovalSystem } from '../approval/index.ts';
import { type GatedCall, type GateVerdict, toolResultText } from '../gateway/index.ts';
import type { GateCheck, RemoteToolGateway } from '../gateway/remote/index.ts';
import type { RemoteBus } from './remote-bus.ts';

export interface GateDeskOptions {
  readonly approvals: Pick<ApprovalSystem, 'gate' | 'command' | 'isCommand'> | null;
  readonly gateway: Pick<RemoteToolGateway, 'execution'>;
  readonly bus: Pick<RemoteBus, 'callOf'>;
}

export type GateAnswer =
  | { readonly run: true }
  | { readonly run: false; readonly output: string; readonly isError: boolean };

const CANCELLED: GateAnswer = { run: false, output: 'Error: the tool was cancelled.', isError: true };

export class GateDesk {
  readonly #options: GateDeskOptions;

  constructor(options: GateDeskOptions) {
    this.#options = options;
  }

  async check(asked: GateCheck): Promise<GateAnswer> {
    const { approvals, gateway, bus } = this.#options;
    const { executionId, name, request } = asked;
    if (!approvals) return { run: true };
    if (executionId) {
      const execution = gateway.execution(executionId);
      // Cancelled, or over: what it still does is nobody's.
      if (!execution) return CANCELLED;
      if (!approvals.gate.concerns(name)) return { run: true };
      const { sessionKey, options } = execution;
      const { channel, chatId = sessionKey, callId, toolCallId } = options;
      const call = { sessionKey, channel, chatId, ...defined({ callId, toolCallId }) };
      // An approved call's permission lies in the context that asked for its execution.
      return answerOf(
        await execution.within(() => approvals.gate.check({ ...call, name, args: asked.arguments })),
      );
    }
    if (!approvals.gate.concerns(name)) return { run: true };
    const asking = request ? bus.callOf(request) : null;
    const { sessionKey, channel, chatId, callId, toolCallId } = asking ?? {
      sessionKey: asked.sessionKey,
      channel: asked.channel,
      chatId: asked.chatId,
      callId: undefined,
      toolCallId: asked.toolCallId ?? undefined,
    };
    const call: GatedCall = {
      sessionKey,
      channel,
      chatId,
      name,
      args: asked.arguments,
      ...defined({ callId, toolCallId }),
    };
    return answerOf(await approvals.gate.check(call));
  }

  /** The answer to `/approve` and `/deny`; `null` when it is no decision, or there is no gate. */
  async decide(message: Parameters<ApprovalSystem['command']>[0]): Promise<string | null> {
    const { approvals } = this.#options;
    return approvals?.isCommand(message.content) ? approvals.command(message) : null;
  }
}

function answerOf(verdict: GateVerdict): GateAnswer {
  if (verdict.run) return { run: true };
  return { run: false, output: toolResultText(verdict.result), isError: verdict.result.isError };
}

function defined({ callId, toolCallId }: { callId: string | undefined; toolCallId: string | undefined }) {
  return { ...(callId !== undefined && { callId }), ...(toolCallId !== undefined && { toolCallId }) };
}
