/**
 * One end of the bridge: JSON-RPC 2.0 over two byte streams, a message per line. `json-rpc-2.0` matches answers to
 * requests; framing, bounds, deadlines and the end of the connection are here.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';
import {
  createJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResponse,
  JSONRPCClient,
  type JSONRPCErrorResponse,
  type JSONRPCRequest,
  JSONRPCServer,
} from 'json-rpc-2.0';
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { encodeLine, LineSplitter, MAX_LINE_BYTES } from './ndjson.ts';
import { RPC, RpcError, rpcErrorOf } from './rpc-errors.ts';

/** Requests that may be open in each direction. */
export const MAX_OPEN_REQUESTS = 1000;
/** Bytes that may wait to be read by the other side; beyond it that side counts as dead. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

export interface PeerOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: Clock;
  /** Takes a line for each message that is none; never what was in it. */
  readonly onGarbage?: (what: string) => void;
  /** @defaultValue MAX_LINE_BYTES */
  readonly maxLineBytes?: number;
  /** @defaultValue MAX_UNREAD_BYTES */
  readonly maxUnreadBytes?: number;
}

export interface RequestOptions<Result> {
  readonly timeoutMs: number;
  /** What the answer has to be. */
  readonly result: z.ZodType<Result>;
}

type Handler<Params> = (params: Params) => unknown;

export class RpcPeer {
  /** Resolves when the other side is gone or `close` was called; never rejects. */
  readonly closed: Promise<void>;
  readonly #options: PeerOptions;
  readonly #client: JSONRPCClient;
  readonly #server = new JSONRPCServer({ errorListener: () => {} });
  readonly #splitter: LineSplitter;
  readonly #onClosed: () => void;
  #nextId = 0;
  #openOut = 0;
  #openIn = 0;
  readonly #serving = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: PeerOptions) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options = options;
    this.#splitter = new LineSplitter(options.maxLineBytes);
    this.#client = new JSONRPCClient((message: unknown) => this.#send(message));
    this.#server.mapErrorToJSONRPCErrorResponse = (id, error) => {
      const { code, message, data } = rpcErrorOf(error);
      return createJSONRPCErrorResponse(id, code, message, data);
    };
    this.closed = promise;
    this.#onClosed = resolve;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Requests of ours that are not answered; for leak tests. */
  get openRequests(): number {
    return this.#openOut;
  }

  /** Begins to read. Handlers have to be there by then. */
  listen(): void {
    const { input, output } = this.#options;
    input.on('data', this.#onData);
    for (const event of ['end', 'close', 'error']) input.on(event, this.#onEnd);
    for (const event of ['close', 'error']) output.on(event, this.#onEnd);
  }

  /**
   * Answers a request or takes a notification. It is called in the order of arrival, before anything that came later;
   * what it returns is the answer.
   */
  on<Params>(method: string, params: z.ZodType<Params>, handler: Handler<Params>): void {
    this.#server.addMethod(method, (raw: unknown) => {
      const parsed = params.safeParse(raw ?? {});
      if (!parsed.success) {
        // Names of fields, never their values.
        const where = parsed.error.issues.map(({ path }) => path.join('.') || 'params').join(', ');
        throw new RpcError(`Invalid params of ${method}: ${where}`, RPC.invalidParams);
      }
      return Promise.resolve(handler(parsed.data)).then((result) => result ?? {});
    });
  }

  /**
   * Asks the other side.
   *
   * @throws RpcError what it answered; `busy`, `deadline`, `internal` for an answer of another shape or a dead peer
   */
  async request<Result>(
    method: string,
    params: object,
    { timeoutMs, result }: RequestOptions<Result>,
  ): Promise<Result> {
    if (this.#isClosed) throw gone();
    if (this.#openOut >= MAX_OPEN_REQUESTS) throw new RpcError('Too many requests are open.', RPC.busy);
    const id = ++this.#nextId;
    this.#openOut++;
    const timer = this.#options.clock.setTimeout(
      () =>
        this.#client.receive(createJSONRPCErrorResponse(id, RPC.deadline, `${method}: no answer in time`)),
      timeoutMs,
    );
    try {
      const answer = await this.#client.requestAdvanced({ jsonrpc: '2.0', id, method, params });
      if (answer.error) throw this.#failure(answer.error);
      const parsed = result.safeParse(answer.result);
      if (!parsed.success) throw new RpcError(`${method}: the answer has another shape`, RPC.internal);
      return parsed.data;
    } finally {
      timer.clear();
      this.#openOut--;
    }
  }

  /** Tells the other side; lost when it is gone. */
  notify(method: string, params: object): void {
    if (this.#isClosed) return;
    try {
      this.#send({ jsonrpc: '2.0', method, params });
    } catch {
      this.#options.onGarbage?.(`a notification ${method} that can't be sent`);
    }
  }

  /** Resolves when what the other side has asked until now is answered, and the answers are written. */
  async answered(): Promise<void> {
    await Promise.all(this.#serving);
  }

  /** Ends it: every open request fails, nothing more is read or written. The streams are the owner's. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { input, output } = this.#options;
    input.off('data', this.#onData);
    for (const event of ['end', 'close']) input.off(event, this.#onEnd);
    output.off('close', this.#onEnd);
    this.#client.rejectAllPendingRequests(GONE);
    this.#onClosed();
  }

  #failure({ message, code, data }: JSONRPCErrorResponse['error']): RpcError {
    // The library's own code, 0: it was not sent (too long, no JSON), or the connection ended.
    if (code === 0) return this.#isClosed ? gone() : new RpcError(message, RPC.notPossible);
    return new RpcError(message, code, data);
  }

  readonly #onEnd = () => this.close();

  readonly #onData = (chunk: Uint8Array | string) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (const frame of this.#splitter.push(bytes)) {
      if (this.#isClosed) return;
      if (frame.type === 'too_long') this.#refuse(null, RPC.invalidRequest, 'The line is too long');
      else this.#receive(frame.text);
    }
  };

  #receive(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#refuse(null, RPC.parseError, 'Parse error');
      return;
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      this.#refuse(null, RPC.invalidRequest, 'Not a JSON-RPC 2.0 object');
      return;
    }
    if (isJSONRPCRequest(message)) this.#serve(message);
    else if (isJSONRPCResponse(message)) this.#client.receive(message);
    else if ('error' in message) this.#options.onGarbage?.('an error that answers nothing');
    else this.#refuse(null, RPC.invalidRequest, 'Not a JSON-RPC 2.0 object');
  }

  #serve(request: JSONRPCRequest): void {
    const { id = null } = request;
    const isRequest = request.id !== undefined;
    if (isRequest && typeof id !== 'string' && typeof id !== 'number') {
      this.#refuse(null, RPC.invalidRequest, 'id must be text or a number');
      return;
    }
    if (
      request.params !== undefined &&
      (typeof request.params !== 'object' || Array.isArray(request.params))
    ) {
      if (isRequest) this.#refuse(id, RPC.invalidParams, 'params must be an object');
      return;
    }
    if (isRequest && this.#openIn >= MAX_OPEN_REQUESTS) {
      this.#refuse(id, RPC.busy, 'Too many requests are open.');
      return;
    }
    this.#openIn++;
    // The server never rejects: what a handler throws is an answer.
    const served = Promise.resolve(this.#server.receive(request)).then((answer) => {
      this.#openIn--;
      this.#serving.delete(served);
      if (answer !== null) this.#answer(answer, id);
    });
    this.#serving.add(served);
  }

  #answer(answer: unknown, id: string | number | null): void {
    if (this.#isClosed) return;
    try {
      this.#send(answer);
    } catch (error) {
      const { code, message } = rpcErrorOf(error);
      this.#refuse(id, code, message);
    }
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    if (id === null) this.#options.onGarbage?.(message);
    if (!this.#isClosed) this.#send(createJSONRPCErrorResponse(id, code, message));
  }

  /** @throws RpcError `notPossible` for a message that is too long */
  #send(message: unknown): void {
    if (this.#isClosed) throw gone();
    const { output, maxLineBytes = MAX_LINE_BYTES, maxUnreadBytes = MAX_UNREAD_BYTES } = this.#options;
    const line = encodeLine(message, maxLineBytes);
    if (line === null) throw new RpcError('The message is too long for a line.', RPC.notPossible);
    output.write(line);
    if (output.writableLength > maxUnreadBytes) this.close();
  }
}

const GONE = 'The other side is gone.';
const gone = () => new RpcError(GONE, RPC.internal);
