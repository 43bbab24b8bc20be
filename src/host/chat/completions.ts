import { z } from 'zod';
import { type Clock, delay } from '../../clock.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { ToolDefinition } from '../../gateway/index.ts';
import { undici } from '../../lazy.ts';
import type { ChatMessage, ChatModel, ChatReply } from './contract.ts';
import type { ChatEndpoint } from './endpoint.ts';

/** Deadline of one request. */
export const CHAT_TIMEOUT_MS = 120_000;
/** Largest answer that is read. */
export const MAX_CHAT_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Waits before the second, third and fourth try of a request that may succeed later. */
export const CHAT_RETRY_DELAYS_MS: readonly number[] = [1000, 2000, 4000];
/** Tool calls that one answer may hold; the rest is not run. */
export const MAX_TOOL_CALLS_PER_REPLY = 32;

const replySchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
});

/** The part of `fetch` that is used; injected by tests. */
export type ChatFetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body: string;
    signal: AbortSignal;
    redirect: 'error';
  },
) => Promise<{ status: number; body: AsyncIterable<Uint8Array> | null }>;

/** Chat completions without streaming, as OpenAI's API reference has them; retried where that can help. */
export function createChatModel(
  endpoint: ChatEndpoint,
  clock: Clock,
  fetch: ChatFetch = (url, init) => undici().fetch(url, init),
): ChatModel {
  return {
    async complete(messages, tools, signal) {
      for (const wait of [...CHAT_RETRY_DELAYS_MS, null]) {
        try {
          return await request(endpoint, clock, fetch, messages, tools, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (wait === null || !isVoiceError(error, 'MODEL_UNAVAILABLE')) throw error;
          await delay(clock, wait, signal);
          signal.throwIfAborted();
        }
      }
      throw new VoiceError('MODEL_UNAVAILABLE', 'The language model does not answer.');
    },
  };
}

async function request(
  endpoint: ChatEndpoint,
  clock: Clock,
  fetch: ChatFetch,
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
  signal: AbortSignal,
): Promise<ChatReply> {
  const deadline = new AbortController();
  const timer = clock.setTimeout(() => deadline.abort(), CHAT_TIMEOUT_MS);
  try {
    const answer = clock.track(
      fetch(`${endpoint.baseUrl}/chat/completions`, {
        method: 'POST',
        // A redirect would carry the conversation to an address that nobody named.
        redirect: 'error',
        headers: {
          'content-type': 'application/json',
          ...(endpoint.apiKey !== null && { authorization: `Bearer ${endpoint.apiKey}` }),
          ...endpoint.headers,
        },
        body: JSON.stringify({
          model: endpoint.model,
          messages,
          ...(tools.length > 0 && { tools, tool_choice: 'auto' }),
          ...(endpoint.maxTokens !== null && { max_tokens: endpoint.maxTokens }),
          ...(endpoint.temperature !== null && { temperature: endpoint.temperature }),
        }),
        signal: AbortSignal.any([signal, deadline.signal]),
      }).then(async ({ status, body }) => ({ status, text: await readBounded(body) })),
    );
    const { status, text } = await answer;
    if (status !== 200) throw refused(status);
    return parseReply(text);
  } catch (error) {
    if (isVoiceError(error)) throw error;
    // The cause may hold the request with its key; the message names the kind only.
    throw new VoiceError('MODEL_UNAVAILABLE', 'The language model can not be reached.');
  } finally {
    timer.clear();
  }
}

function refused(status: number): VoiceError {
  if (status === 401 || status === 403) {
    return new VoiceError('MODEL_AUTH_FAILED', `The language model refused our key (HTTP ${status}).`);
  }
  const mayHelp = status === 408 || status === 409 || status === 429 || status >= 500;
  return new VoiceError(
    mayHelp ? 'MODEL_UNAVAILABLE' : 'MODEL_PROTOCOL',
    `The language model answered HTTP ${status}.`,
  );
}

async function readBounded(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_CHAT_RESPONSE_BYTES) {
      throw new VoiceError('MODEL_PROTOCOL', 'The answer of the language model is too large.');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseReply(text: string): ChatReply {
  const parsed = replySchema.safeParse(parseJson(text));
  const message = parsed.data?.choices[0]?.message;
  if (!message) {
    throw new VoiceError('MODEL_PROTOCOL', 'The answer of the language model is not a chat completion.');
  }
  return {
    text: message.content ?? null,
    toolCalls: (message.tool_calls ?? [])
      .slice(0, MAX_TOOL_CALLS_PER_REPLY)
      .map((call) => ({ id: call.id, name: call.function.name, args: call.function.arguments })),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
