import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import type { ToolGate } from '../../../src/gateway/index.ts';
import { MessageBus, type OutboundMessage } from '../../../src/host/bus/index.ts';
import type { ChatMessage, ChatModel, ChatReply } from '../../../src/host/chat/index.ts';
import {
  createBuiltinTools,
  FileStateStore,
  SsrfPolicy,
  ToolRegistry,
  WorkspacePolicy,
} from '../../../src/host/index.ts';
import { AgentLoop, type BusCommands } from '../../../src/host/loop/index.ts';
import { Sessions } from '../../../src/host/sessions/index.ts';
import { silentLogger } from '../../../src/observe/index.ts';

const base = mkdtempSync(join(tmpdir(), 'loop-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let count = 0;

type Scripted =
  | ChatReply
  | Error
  | ((signal: AbortSignal, messages: readonly ChatMessage[]) => Promise<ChatReply>);

/** A model that answers from a list, and keeps what it was asked. */
export class ScriptedModel implements ChatModel {
  readonly asked: (readonly ChatMessage[])[] = [];
  readonly tools: string[][] = [];
  readonly #replies: Scripted[];

  constructor(replies: Scripted[]) {
    this.#replies = replies;
  }

  async complete(
    messages: readonly ChatMessage[],
    tools: readonly { function: { name: string } }[],
    signal: AbortSignal,
  ): Promise<ChatReply> {
    this.asked.push(structuredClone(messages));
    this.tools.push(tools.map((tool) => tool.function.name));
    const reply = this.#replies.shift() ?? { text: 'ok', toolCalls: [] };
    if (reply instanceof Error) throw reply;
    return typeof reply === 'function' ? reply(signal, messages) : reply;
  }
}

export const says = (text: string): ChatReply => ({ text, toolCalls: [] });
export const calls = (...list: [name: string, args: string][]): ChatReply => ({
  text: null,
  toolCalls: list.map(([name, args], index) => ({ id: `call-${index}`, name, args })),
});

/** A loop with a workspace, the built-in tools and a model that answers from a list. */
export function createLoop(
  replies: ConstructorParameters<typeof ScriptedModel>[0] | null = [],
  options: {
    maxIterations?: number;
    files?: Record<string, string>;
    unifiedSession?: boolean;
    approvals?: (BusCommands & { readonly gate: ToolGate }) | null;
  } = {},
) {
  count += 1;
  const home = join(base, `${count}`);
  const workspace = join(home, 'workspace');
  mkdirSync(workspace, { recursive: true });
  for (const [name, content] of Object.entries(options.files ?? {})) {
    writeFileSync(join(workspace, name), content);
  }
  const bus = new MessageBus();
  const registry = new ToolRegistry();
  const policy = new WorkspacePolicy({ workspace });
  const ssrf = new SsrfPolicy();
  const tools = createBuiltinTools({
    policy,
    ssrf,
    publishOutbound: (message) => bus.publishOutbound(message),
    exec: { enable: true },
  });
  for (const tool of tools) registry.register(tool);
  const sessions = new Sessions({ directory: join(home, 'sessions'), clock: realClock });
  const model = replies && new ScriptedModel(replies);
  const loop = new AgentLoop({
    bus,
    registry,
    sessions,
    fileStates: new FileStateStore(),
    workspace,
    restrictToWorkspace: true,
    clock: realClock,
    logger: silentLogger,
    model,
    maxIterations: options.maxIterations ?? 5,
    ...(options.unifiedSession !== undefined && { unifiedSession: options.unifiedSession }),
    ...(options.approvals !== undefined && {
      gate: options.approvals?.gate ?? null,
      commands: options.approvals,
    }),
  });
  const write = (content: string, chatId = 'c1', channel = 'telegram') =>
    bus.publishInbound({
      channel,
      senderId: 'someone',
      chatId,
      content,
      media: [],
      metadata: { message_id: 7 },
    });
  /** Writes a message and waits for what comes back. */
  const ask = async (content: string, chatId = 'c1'): Promise<OutboundMessage | null> => {
    loop.start();
    write(content, chatId);
    return bus.consumeOutbound();
  };
  return { loop, bus, registry, sessions, model, workspace, home, write, ask };
}
