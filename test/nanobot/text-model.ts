/**
 * An OpenAI-compatible language model on loopback: answers with what it was told to, and forgives no request that the real
 * one would refuse.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.unknown() }),
  z.object({ role: z.literal('user'), content: z.unknown() }),
  z.object({
    role: z.literal('assistant'),
    content: z.unknown().optional(),
    tool_calls: z.array(toolCall).min(1).optional(),
  }),
  z.object({ role: z.literal('tool'), content: z.unknown(), tool_call_id: z.string().min(1) }),
]);

const request = z.object({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().optional(),
  tools: z
    .array(z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) }))
    .optional(),
});

export type TextRequest = z.output<typeof request>;

export type TextAnswer = (
  | { readonly text: string }
  | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
) & {
  /** It thinks until this resolves. */
  readonly after?: Promise<unknown>;
};

export class TextModel {
  readonly asked: TextRequest[] = [];
  readonly violations: string[] = [];
  readonly #answers: TextAnswer[] = [];
  readonly #server: Server;
  #count = 0;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing).catch((error: unknown) => {
        this.violations.push(String(error));
        outgoing.writeHead(400, { 'content-type': 'application/json' });
        outgoing.end(JSON.stringify({ error: { message: 'bad request', type: 'invalid_request_error' } }));
      });
    });
  }

  /** Answers with these, in order; then with "Done.". */
  willSay(...answers: TextAnswer[]): void {
    this.#answers.push(...answers);
  }

  /** Resolves with the base address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions')
      throw new Error(`no such endpoint: ${incoming.method} ${incoming.url}`);
    const asked = request.parse(JSON.parse(body));
    checkToolRows(asked);
    this.asked.push(asked);
    this.#count += 1;
    const answer: TextAnswer = this.#answers.shift() ?? { text: 'Done.' };
    await answer.after;
    const id = `text-${this.#count}`;
    const base = { id, created: 1, model: asked.model };
    const isText = 'text' in answer;
    const finish_reason = isText ? 'stop' : 'tool_calls';
    const call = isText
      ? null
      : {
          id: `call_${this.#count}`,
          type: 'function',
          function: { name: answer.tool, arguments: JSON.stringify(answer.args) },
        };
    if (!asked.stream) {
      const content = isText ? answer.text : null;
      const message = { role: 'assistant', content, ...(call ? { tool_calls: [call] } : {}) };
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(
        JSON.stringify({
          ...base,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        }),
      );
      return;
    }
    const delta = isText ? { content: answer.text } : { tool_calls: [{ index: 0, ...call }] };
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const choice of [
      { index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null },
      { index: 0, delta: {}, finish_reason },
    ]) {
      const chunk = { ...base, object: 'chat.completion.chunk', choices: [choice] };
      outgoing.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    outgoing.end('data: [DONE]\n\n');
  }
}

/** Each result belongs to a call right before it, and each call has its result: the real one refuses anything else. */
function checkToolRows({ messages }: TextRequest): void {
  let open = new Set<string>();
  for (const row of messages) {
    if (row.role === 'tool') {
      if (!open.delete(row.tool_call_id)) throw new Error('a tool result without its call');
    } else {
      if (open.size > 0) throw new Error('a tool call without its result');
      open = new Set(row.role === 'assistant' ? row.tool_calls?.map(({ id }) => id) : []);
    }
  }
}
