import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../../src/gateway/index.ts';
import {
  CHAT_RETRY_DELAYS_MS,
  CHAT_TIMEOUT_MS,
  type ChatEndpoint,
  type ChatFetch,
  createChatModel,
  MAX_CHAT_RESPONSE_BYTES,
  MAX_TOOL_CALLS_PER_REPLY,
} from '../../../src/host/chat/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';

const KEY = 'sk-not-for-anyone';
const endpoint: ChatEndpoint = {
  baseUrl: 'https://llm.example.com/v1',
  apiKey: KEY,
  headers: { 'X-Title': 'ours' },
  model: 'gpt-x',
  maxTokens: null,
  temperature: null,
};
const tool: ToolDefinition = {
  type: 'function',
  function: { name: 'look', description: 'd', parameters: { type: 'object' } },
};
const completion = (message: object) => JSON.stringify({ choices: [{ message }] });
const hello = completion({ role: 'assistant', content: 'hello' });
const never = new AbortController().signal;

async function* bytes(text: string) {
  yield Buffer.from(text);
}

/** A `fetch` that answers from a list, the last answer over and over. */
function server(...answers: (readonly [status: number, text: string] | Error)[]) {
  const requests: { url: string; headers: Record<string, string>; body: Record<string, unknown> }[] = [];
  const fetch: ChatFetch = async (url, init) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ url, headers: init.headers, body: JSON.parse(init.body) });
    if (answer === undefined || answer instanceof Error) throw answer;
    return { status: answer[0], body: bytes(answer[1]) };
  };
  const clock = new FakeClock();
  const model = createChatModel(endpoint, clock, fetch);
  return { requests, clock, ask: (signal = never) => clock.drive(model.complete([], [tool], signal)) };
}

describe('the chat-completions endpoint', () => {
  it('gets the model, the messages and the tools, with the key where it belongs', async () => {
    const { requests, ask } = server([200, hello]);

    const reply = await ask();

    expect(reply).toEqual({ text: 'hello', toolCalls: [] });
    expect(requests).toEqual([
      {
        url: 'https://llm.example.com/v1/chat/completions',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, 'X-Title': 'ours' },
        body: { model: 'gpt-x', messages: [], tools: [tool], tool_choice: 'auto' },
      },
    ]);
  });

  it('answers with tool calls, as the model wrote them and no more than a bounded number', async () => {
    const call = (id: number) => ({
      id: `${id}`,
      type: 'function',
      function: { name: 'look', arguments: '{bad' },
    });
    const many = Array.from({ length: MAX_TOOL_CALLS_PER_REPLY + 5 }, (_, index) => call(index));
    const { ask } = server([200, completion({ content: null, tool_calls: many })]);

    const reply = await ask();

    expect(reply.text).toBeNull();
    expect(reply.toolCalls).toHaveLength(MAX_TOOL_CALLS_PER_REPLY);
    expect(reply.toolCalls[1]).toEqual({ id: '1', name: 'look', args: '{bad' });
  });

  it('is asked again after 1, 2 and 4 s where that can help', async () => {
    const { requests, clock, ask } = server(
      [503, ''],
      new TypeError('fetch failed'),
      [429, ''],
      [200, hello],
    );
    const startedAt = clock.now();

    const reply = await ask();

    expect(reply.text).toBe('hello');
    expect(requests).toHaveLength(4);
    expect(clock.now() - startedAt).toBe(7000);
  });

  it.each([
    [[500, 'stack trace'], 'MODEL_UNAVAILABLE', CHAT_RETRY_DELAYS_MS.length + 1],
    [new TypeError(`fetch failed ${KEY}`), 'MODEL_UNAVAILABLE', CHAT_RETRY_DELAYS_MS.length + 1],
    [[401, `{"error":"Incorrect key ${KEY}"}`], 'MODEL_AUTH_FAILED', 1],
    [[403, ''], 'MODEL_AUTH_FAILED', 1],
    [[400, `{"error":"${KEY}"}`], 'MODEL_PROTOCOL', 1],
    [[302, ''], 'MODEL_PROTOCOL', 1],
    [[200, 'not json'], 'MODEL_PROTOCOL', 1],
    [[200, '{"choices":[]}'], 'MODEL_PROTOCOL', 1],
    [[200, completion({ content: 7 })], 'MODEL_PROTOCOL', 1],
    [[200, 'x'.repeat(MAX_CHAT_RESPONSE_BYTES + 1)], 'MODEL_PROTOCOL', 1],
  ] as const)('that fails is a coded error without a secret in it: %#', async (answer, code, tries) => {
    const { requests, ask } = server(answer as [number, string] | Error);

    const error = await ask().catch((each: unknown) => each);

    expect(error).toMatchObject({ code });
    expect(requests).toHaveLength(tries);
    const { message, cause, stack } = error as Error;
    expect(`${message} ${String(cause)} ${stack}`).not.toContain(KEY);
  });

  it('that never answers is given up after its deadline, every time', async () => {
    const clock = new FakeClock();
    let requests = 0;
    const fetch: ChatFetch = (_url, { signal }) => {
      requests += 1;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    // Nothing real is under way here, so time may move on while it waits.
    const loose = Object.assign(Object.create(clock), {
      now: () => clock.now(),
      setTimeout: clock.setTimeout.bind(clock),
      track: <T>(work: Promise<T>) => work,
    }) as FakeClock;
    const startedAt = clock.now();

    const asked = clock.drive(createChatModel(endpoint, loose, fetch).complete([], [], never));

    await expect(asked).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect(requests).toBe(4);
    expect(clock.now() - startedAt).toBe(4 * CHAT_TIMEOUT_MS + 7000);
  });

  it('is let go at once when nobody wants the answer any more', async () => {
    const { requests, ask } = server([503, '']);
    const stop = new AbortController();
    const reason = new Error('stopped');
    stop.abort(reason);

    await expect(ask(stop.signal)).rejects.toBe(reason);
    expect(requests).toHaveLength(1);
  });

  it('is spoken to over real HTTP, and a redirect is not followed', async () => {
    let redirected = 0;
    const http = createServer((request, response) => {
      if (request.url === '/v1/chat/completions') {
        response.setHeader('content-type', 'application/json').end(hello);
        return;
      }
      redirected += request.url === '/elsewhere' ? 1 : 0;
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const ask = (path: string) => {
      const clock = new FakeClock();
      return clock.drive(
        createChatModel({ ...endpoint, baseUrl: `${base}${path}` }, clock).complete([], [], never),
      );
    };

    expect(await ask('/v1')).toEqual({ text: 'hello', toolCalls: [] });
    await expect(ask('/redirect')).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });

    expect(redirected).toBe(0);
    http.closeAllConnections();
    http.close();
  });
});
