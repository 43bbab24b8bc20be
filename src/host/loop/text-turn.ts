import type { Clock } from '../../clock.ts';
import { type LiveCall, type ToolGateway, type ToolResult, toolResultText } from '../../gateway/index.ts';
import type { ChatMessage, ChatModel, ChatReply, ChatToolCall } from '../chat/index.ts';
import type { NewRow, Session, Sessions } from '../sessions/index.ts';
import { historyMessages } from './history.ts';
import { readPersona } from './persona.ts';
import { disabledTools } from './tool-runner.ts';

export interface TextTurnOptions {
  readonly sessions: Sessions;
  readonly tools: ToolGateway;
  readonly model: ChatModel;
  readonly clock: Clock;
  readonly workspace: string;
  /** Times the model may ask for tools in one turn. */
  readonly maxIterations: number;
}

export interface TextTurnRequest {
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  readonly content: string;
  readonly signal: AbortSignal;
  /** The live call that asks, where the request came from one. */
  readonly call?: LiveCall;
}

/**
 * One turn: the message, as many rounds of tools as the model asks for, the answer. Its rows go to the session
 * file: the message at once, the rest when the turn ends, however it ends.
 *
 * @returns the answer
 * @throws VoiceError of the model or the session; the signal's reason on abort
 */
export async function runTextTurn(request: TextTurnRequest, options: TextTurnOptions): Promise<string> {
  const { sessions, tools, model, maxIterations } = options;
  const { sessionKey, signal } = request;
  const session = await sessions.get(sessionKey);
  await sessions.append(sessionKey, [{ role: 'user', content: request.content }]);
  const messages: ChatMessage[] = [
    { role: 'system', content: await systemPrompt(options) },
    ...historyMessages(session.rows),
    { role: 'user', content: request.content },
  ];
  const rows: NewRow[] = [];
  try {
    for (let iteration = 0; iteration < maxIterations; iteration += 1) {
      const reply = await model.complete(messages, visibleTools(tools, session), signal);
      if (reply.toolCalls.length === 0) return answer(rows, reply.text?.trim() || 'I have nothing to add.');
      const results = await runCalls(reply.toolCalls, request, tools);
      signal.throwIfAborted();
      messages.push(...roundMessages(reply, results));
      rows.push(...roundRows(reply, results));
    }
    return answer(rows, `I stopped after ${maxIterations} rounds of tool calls without an end in sight.`);
  } finally {
    if (rows.length > 0) await sessions.append(sessionKey, rows);
  }
}

function answer(rows: NewRow[], text: string): string {
  rows.push({ role: 'assistant', content: text });
  return text;
}

function visibleTools(tools: ToolGateway, session: Session) {
  const hidden = new Set(disabledTools(session));
  return tools.getToolDefinitions().filter((each) => !hidden.has(each.function.name));
}

/** All at once: the runner lets those run together that may, and the others in turn. */
function runCalls(
  calls: readonly ChatToolCall[],
  { sessionKey, channel, chatId, signal, call }: TextTurnRequest,
  tools: ToolGateway,
): Promise<ToolResult[]> {
  return Promise.all(
    calls.map(({ name, args }) =>
      tools.executeTool(sessionKey, name, args, { channel, chatId, signal, ...call }),
    ),
  );
}

const wireCalls = (reply: ChatReply) =>
  reply.toolCalls.map(({ id, name, args }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: args },
  }));

function roundMessages(reply: ChatReply, results: readonly ToolResult[]): ChatMessage[] {
  return [
    { role: 'assistant', content: reply.text, tool_calls: wireCalls(reply) },
    ...reply.toolCalls.map(
      (call, index): ChatMessage => ({
        role: 'tool',
        tool_call_id: call.id,
        content: results[index]?.content ?? '',
      }),
    ),
  ];
}

/** Pictures stay out of the file: their bytes are in the workspace or on the web, and a session is read whole. */
function roundRows(reply: ChatReply, results: readonly ToolResult[]): NewRow[] {
  return [
    { role: 'assistant', content: reply.text, tool_calls: wireCalls(reply) },
    ...reply.toolCalls.map((call, index): NewRow => {
      const result = results[index];
      return {
        role: 'tool',
        tool_call_id: call.id,
        name: call.name,
        content: result ? toolResultText(result) : '',
      };
    }),
  ];
}

async function systemPrompt({ clock, workspace }: TextTurnOptions): Promise<string> {
  const persona = await readPersona(workspace);
  return [
    'You are the agent of the person who writes to you. Your tools work in the folder ' +
      `${workspace}; use them instead of guessing, and say plainly when one fails or refuses.`,
    `It is ${new Date(clock.wallNow()).toISOString()} (UTC).`,
    persona,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
