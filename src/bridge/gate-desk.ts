/**
 * Answers the host's questions whether a tool may run: the host asks from within the tool, so what it knows of the call
 * that asks is completed here, from our own record of it and never from what the host says about it.
 *
 * @module
 */

import type { ApprovalSystem } from '../approval/index.ts';
import { CHANNEL_NAME } from '../channel/index.ts';
import { type GatedCall, type GateVerdict, toolResultText } from '../gateway/index.ts';
import type { GateCheck, RemoteToolGateway } from '../gateway/remote/index.ts';
import type { BridgeGate } from './bridge-gate.ts';
import type { RemoteBus } from './remote-bus.ts';

export interface GateDeskOptions {
  readonly gate: Pick<BridgeGate, 'gate' | 'command' | 'isCommand'>;
  readonly gateway: Pick<RemoteToolGateway, 'execution'>;
  readonly bus: Pick<RemoteBus, 'callOf'>;
  /** The session of a call as the host knows it; `null` when there never was such a call. */
  readonly sessionOf: (callId: string) => Promise<string | null>;
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
    const {
      gate: { gate },
      gateway,
      bus,
    } = this.#options;
    const { executionId, name, request } = asked;
    if (executionId) {
      const execution = gateway.execution(executionId);
      // Cancelled, or over: what it still does is nobody's.
      if (!execution) return CANCELLED;
      if (!gate.concerns(name)) return { run: true };
      const { sessionKey, options } = execution;
      const { channel, chatId = sessionKey, callId, toolCallId } = options;
      const call = { sessionKey, channel, chatId, ...defined({ callId, toolCallId }) };
      // An approved call's permission lies in the context that asked for its execution.
      return answerOf(await execution.within(() => gate.check({ ...call, name, args: asked.arguments })));
    }
    if (!gate.concerns(name)) return { run: true };
    const asking = request ? bus.callOf(request) : null;
    const { sessionKey, channel, chatId, callId, toolCallId } = asking ?? {
      sessionKey: asked.sessionKey,
      channel: asked.channel,
      chatId: asked.chatId,
      callId: await this.#callOf(asked),
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
    return answerOf(await gate.check(call));
  }

  /** The answer to `/approve` and `/deny`; `null` when it is no decision, or there is no gate. */
  async decide(message: Parameters<ApprovalSystem['command']>[0]): Promise<string | null> {
    const { gate } = this.#options;
    return gate.isCommand(message.content) ? gate.command(message) : null;
  }

  /**
   * The call that a later step of the agent's is for: its request is answered, or was made before our restart. What the host
   * says of it counts only when our own record has that call in this very session.
   */
  async #callOf({ channel, sessionKey, call }: GateCheck): Promise<string | undefined> {
    if (!call || channel !== CHANNEL_NAME) return undefined;
    const session = await this.#options.sessionOf(call).catch(() => null);
    return session === sessionKey ? call : undefined;
  }
}

function answerOf(verdict: GateVerdict): GateAnswer {
  if (verdict.run) return { run: true };
  return { run: false, output: toolResultText(verdict.result), isError: verdict.result.isError };
}

function defined({ callId, toolCallId }: { callId: string | undefined; toolCallId: string | undefined }) {
  return { ...(callId !== undefined && { callId }), ...(toolCallId !== undefined && { toolCallId }) };
}
