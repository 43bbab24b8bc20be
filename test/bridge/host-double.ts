/**
 * The host's side of the bridge as docs/reference/bridge.md has it, for tests: strict about everything that the channel
 * sends, and able to misbehave. It shares no code with the channel's side.
 */

import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

const text = z.string();
const sessionRow = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: text.min(1),
    timestamp: z.iso.datetime(),
    source: z.literal('voice'),
    voice_turn: text,
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: text.min(1).nullable(),
    tool_calls: z
      .array(
        z.strictObject({
          id: text,
          type: z.literal('function'),
          function: z.strictObject({ name: text, arguments: text }),
        }),
      )
      .optional(),
    timestamp: z.iso.datetime(),
    source: z.literal('voice'),
    voice_turn: text,
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: text,
    name: text,
    content: text,
    timestamp: z.iso.datetime(),
    source: z.literal('voice'),
    voice_turn: text,
  }),
]);

const REQUESTS = {
  'tools/list': z.strictObject({}),
  'tools/execute': z.strictObject({
    executionId: text.min(1),
    sessionKey: text.min(1),
    channel: text.min(1),
    chatId: text.min(1),
    senderId: text.min(1).optional(),
    name: text.min(1),
    arguments: z.unknown(),
    timeoutMs: z.int().min(1),
  }),
  inbound: z.strictObject({
    sessionKey: text.min(1),
    chatId: text.min(1),
    senderId: text.min(1),
    text: text.min(1),
    metadata: z.record(text, z.json()),
  }),
  stop: z.strictObject({ sessionKey: text.min(1), chatId: text.min(1), senderId: text.min(1) }),
  'message/send': z.strictObject({
    channel: text.min(1),
    chatId: text.min(1),
    content: text,
    media: z.array(text).optional(),
    metadata: z.record(text, z.json()).optional(),
  }),
  'session/append': z.strictObject({
    sessionKey: text.min(1),
    key: text.min(1),
    rows: z.array(sessionRow).min(1),
    timeoutMs: z.int().min(1),
  }),
  history: z.strictObject({ sessionKey: text.min(1), limit: z.int().min(1).max(200) }),
  allowed: z.strictObject({ senderId: text }),
  ping: z.strictObject({}),
};
const NOTIFICATIONS = {
  'tools/cancel': z.strictObject({
    executionId: text.min(1),
    reason: z.enum(['interrupted', 'hangup', 'deadline', 'shutdown']).optional(),
  }),
  status: z.strictObject({
    state: z.enum(['starting', 'ready', 'draining', 'stopped']),
    activeCalls: z.int().min(0),
    address: text.nullable(),
  }),
  log: z.strictObject({ level: z.enum(['info', 'warn', 'error']), message: text }),
};

type Requests = typeof REQUESTS;
export type Method = keyof Requests;
export type ParamsOf<M extends Method> = z.output<Requests[M]>;
export type Execute = ParamsOf<'tools/execute'>;

/** What a request is answered with: a result, an error, or nothing at all, ever. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { code: number; message: string; data?: unknown } }
  | 'never';

export const output = (text: unknown, isError = false): Answer => ({ result: { output: text, isError } });

export class HostDouble {
  /** What the channel sent against the rules; a test ends with it empty. */
  readonly faults: string[] = [];
  /** Every request and notification, oldest first. */
  readonly seen: { readonly method: string; readonly params: Record<string, unknown> }[] = [];
  readonly executions = new Map<string, Execute>();
  readonly cancelled: string[] = [];
  /** Appended turns by session, as a session file would have them. */
  readonly sessions = new Map<
    string,
    { readonly keys: string[]; readonly rows: z.output<typeof sessionRow>[] }
  >();
  definitions: unknown[] = [];
  /** How requests are answered; replace one to misbehave. */
  readonly answers: { [M in Method]: (params: ParamsOf<M>) => Answer | Promise<Answer> } = {
    'tools/list': () => ({ result: { definitions: this.definitions } }),
    'tools/execute': ({ name }) => output(`${name} ran`),
    inbound: () => ({ result: {} }),
    stop: () => ({ result: {} }),
    'message/send': () => ({ result: {} }),
    'session/append': (params) => this.#append(params),
    history: () => ({ result: { items: [] } }),
    allowed: () => ({ result: { allowed: true } }),
    ping: () => ({ result: {} }),
  };
  readonly #output: Writable;
  readonly #pending = new Map<number, (answer: Record<string, unknown>) => void>();
  #nextId = 0;
  #held = '';
  #watchers: (() => void)[] = [];

  constructor(streams: { readonly input: Readable; readonly output: Writable }) {
    this.#output = streams.output;
    streams.input.setEncoding('utf8');
    streams.input.on('data', (chunk: string) => this.#read(chunk));
  }

  /** Defines tools of these names. */
  offer(...names: string[]): void {
    this.definitions = names.map((name) => ({
      type: 'function',
      function: { name, description: `The tool ${name}.`, parameters: { type: 'object', properties: {} } },
    }));
  }

  paramsOf<M extends Method>(method: M): ParamsOf<M>[] {
    return this.seen.filter((each) => each.method === method).map((each) => each.params as ParamsOf<M>);
  }

  /** Asks the channel; resolves to its whole answer. */
  ask(
    method: string,
    params: object = {},
  ): Promise<{
    result?: Record<string, unknown>;
    error?: { code: number; message: string; data?: Record<string, unknown> };
  }> {
    const id = ++this.#nextId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.raw(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  tell(method: string, params: object = {}): void {
    this.raw(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  raw(line: string): void {
    this.#output.write(`${line}\n`);
  }

  /** Resolves as soon as `condition` holds; looked at after each message. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#watchers = this.#watchers.filter((each) => each !== look);
        resolve();
      };
      this.#watchers.push(look);
      look();
    });
  }

  #read(chunk: string): void {
    const lines = (this.#held + chunk).split('\n');
    this.#held = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
    for (const look of this.#watchers) look();
  }

  #take(line: string): void {
    let message: Record<string, unknown>;
    try {
      message = JSON.parse(line) as Record<string, unknown>;
    } catch {
      this.faults.push(`not JSON: ${line.slice(0, 80)}`);
      return;
    }
    const { id, method } = message;
    if (message.jsonrpc !== '2.0') this.faults.push(`no JSON-RPC 2.0: ${line.slice(0, 80)}`);
    if (typeof method !== 'string') {
      if (id === null) this.seen.push({ method: 'error', params: message.error as Record<string, unknown> });
      else if (!this.#pending.has(id as number)) this.faults.push(`answers nothing: ${line.slice(0, 80)}`);
      this.#pending.get(id as number)?.(message);
      this.#pending.delete(id as number);
      return;
    }
    const schema = { ...REQUESTS, ...NOTIFICATIONS }[method as Method];
    const parsed = schema?.safeParse(message.params);
    if (!parsed?.success) this.faults.push(`${method}: ${parsed?.error.message ?? 'unknown'}`);
    if (method in REQUESTS !== (id !== undefined)) this.faults.push(`${method}: request or notification?`);
    const params = (message.params ?? {}) as Record<string, unknown>;
    this.seen.push({ method, params });
    if (method === 'tools/cancel') this.cancelled.push(String(params.executionId));
    if (method === 'tools/execute') {
      const key = String(params.executionId);
      if (this.executions.has(key)) this.faults.push('an executionId came twice');
      this.executions.set(key, params as Execute);
    }
    if (id !== undefined) void this.#answer(id, method as Method, params);
  }

  async #answer(id: unknown, method: Method, params: unknown): Promise<void> {
    const handler = this.answers[method] as ((params: unknown) => Answer | Promise<Answer>) | undefined;
    const answer = (await handler?.(params)) ?? { error: { code: -32601, message: 'unknown method' } };
    if (answer === 'never') return;
    this.raw(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }

  #append({ sessionKey, key, rows }: ParamsOf<'session/append'>): Answer {
    const session = this.sessions.get(sessionKey) ?? { keys: [], rows: [] };
    this.sessions.set(sessionKey, session);
    if (session.keys.includes(key)) return { result: { appended: false } };
    session.keys.push(key);
    session.rows.push(...rows);
    return { result: { appended: true } };
  }
}
