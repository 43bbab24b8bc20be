import type { z } from 'zod';
import { ApprovalSystem, type ApprovalSystemOptions } from '../../src/approval/index.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { type ApprovalsConfig, approvalsSchema } from '../../src/config-approvals.ts';
import type { ExecuteToolOptions, ToolGate, ToolResult } from '../../src/gateway/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import type { ApprovalStore } from '../../src/store/index.ts';
import { MemoryApprovalStore } from './memory-store.ts';

export type ApprovalsInput = z.input<typeof approvalsSchema>;
export const approvalsConfig = (input: ApprovalsInput): ApprovalsConfig => approvalsSchema.parse(input);

/** A registry behind the gate, as the host's loop has it: every tool that runs is written down. */
export class GatedTools {
  readonly ran: { name: string; args: unknown; sessionKey: string }[] = [];
  gate: ToolGate | null = null;
  /** What tools give; may hang. */
  run: (name: string, args: unknown, signal?: AbortSignal) => Promise<ToolResult> | ToolResult = (name) => ({
    content: `${name} done`,
    isError: false,
  });

  async executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    if (this.gate?.concerns(name)) {
      const verdict = await this.gate.check({
        sessionKey,
        name,
        args,
        channel: options.channel,
        chatId: options.chatId ?? sessionKey,
        ...(options.callId !== undefined && { callId: options.callId }),
        ...(options.toolCallId !== undefined && { toolCallId: options.toolCallId }),
      });
      if (!verdict.run) return verdict.result;
    }
    this.ran.push({ name, args: typeof args === 'string' ? JSON.parse(args) : args, sessionKey });
    return this.run(name, args, options.signal);
  }
}

export interface RigOptions extends Partial<Omit<ApprovalSystemOptions, 'config'>> {
  readonly toolGate?: ApprovalsInput extends { toolGate?: infer G } | undefined ? G : never;
  readonly mode?: 'manual' | 'off';
  readonly started?: boolean;
}

export async function rig({ toolGate, mode = 'manual', started = true, ...rest }: RigOptions = {}) {
  const store: ApprovalStore = rest.store ?? new MemoryApprovalStore();
  const clock = rest.clock ?? new VirtualClock();
  const messages: { channel: string; chatId: string; text: string }[] = [];
  const system = new ApprovalSystem({
    config: approvalsConfig({ mode, ...(toolGate ? { toolGate } : {}) }),
    logger: silentLogger,
    dataDirectory: null,
    locale: 'en-us',
    toolTimeoutMs: 60_000,
    executor: 'node',
    recogniser: null,
    sendCard: async () => 200,
    ...rest,
    store,
    clock,
  });
  const tools = new GatedTools();
  tools.gate = system.gate;
  const host = {
    gateway: tools,
    message: (to: { channel: string; chatId: string }, text: string) => {
      messages.push({ ...to, text });
      return true;
    },
  };
  if (started) await system.start(host);
  const call = (
    name: string,
    args: unknown = {},
    options: Partial<ExecuteToolOptions> & { sessionKey?: string } = {},
  ) =>
    tools.executeTool(options.sessionKey ?? 'telegram:1', name, args, {
      channel: 'telegram',
      chatId: '1',
      ...options,
    });
  const onlyPending = async () => {
    const pending = await store.listApprovals({ status: ['pending'] });
    if (pending.length !== 1 || !pending[0]) throw new Error(`${pending.length} are pending`);
    return pending[0];
  };
  const approve = (id: string, more: Partial<Parameters<typeof system.approvals.decide>[0]> = {}) =>
    system.approvals.decide({ id, approve: true, by: 'operator', input: 'page', ...more });
  return {
    system,
    store,
    clock,
    tools,
    host,
    messages,
    call,
    onlyPending,
    approve,
    approvals: system.approvals,
  };
}

/** Lets promises that are under way on an in-memory store come to their end. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 500; i++) await Promise.resolve();
}

export const statusOf = (result: ToolResult): string =>
  typeof result.content === 'string' && result.content.startsWith('{')
    ? (JSON.parse(result.content) as { status: string }).status
    : 'ran';
