/**
 * `FakeGateway`: a `ToolGateway` whose tools take as long, fail and hang as a test wants.
 *
 * @module
 */

import { type Clock, realClock } from '../clock.ts';
import type {
  ExecuteToolOptions,
  JsonSchema,
  ToolDefinition,
  ToolGateway,
  ToolResult,
} from '../gateway/index.ts';

/** What a tool does after its latency. */
export type FakeOutcome =
  | { readonly type: 'result'; readonly content: ToolResult['content'] }
  /** A failure that the tool reports, as a result with `isError`. */
  | { readonly type: 'error'; readonly message: string }
  /** What a gateway promises never to do. */
  | { readonly type: 'throw'; readonly error: unknown }
  /** Never settles; with `abortable`, an abort ends it. */
  | { readonly type: 'hang' };

export interface FakeTool {
  readonly description?: string;
  readonly parameters?: JsonSchema;
  /** Ms of the clock before the outcome. @defaultValue 0 */
  readonly latencyMs?: number;
  /** Whether an abort ends the tool early, with a result that says so. @defaultValue true */
  readonly abortable?: boolean;
  /** A fixed outcome, a text that is the result, or a function of the arguments. */
  readonly outcome: FakeOutcome | string | ((args: unknown, call: FakeToolCall) => FakeOutcome | string);
}

/** One call, as it came in and as it went. */
export interface FakeToolCall {
  readonly sessionKey: string;
  readonly name: string;
  /** Parsed, when it was JSON text. */
  readonly args: unknown;
  readonly rawArgs: unknown;
  readonly options: ExecuteToolOptions;
  readonly startedAtMs: number;
  /** `null` while it runs. */
  endedAtMs: number | null;
  /** When its signal aborted; `null` when it did not. */
  abortedAtMs: number | null;
  result: ToolResult | null;
}

export interface FakeGatewayOptions {
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  readonly tools: Readonly<Record<string, FakeTool | string>>;
}

const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

export class FakeGateway implements ToolGateway {
  /** Every call, oldest first. */
  readonly calls: FakeToolCall[] = [];
  readonly #clock: Clock;
  readonly #tools: Readonly<Record<string, FakeTool | string>>;

  constructor(options: FakeGatewayOptions) {
    this.#clock = options.clock ?? realClock;
    this.#tools = options.tools;
  }

  /** Calls that have not settled. */
  get running(): FakeToolCall[] {
    return this.calls.filter((call) => call.endedAtMs === null);
  }

  callsOf(name: string): FakeToolCall[] {
    return this.calls.filter((call) => call.name === name);
  }

  getToolDefinitions(): ToolDefinition[] {
    return Object.entries(this.#tools).map(([name, tool]) => ({
      type: 'function',
      function: {
        name,
        description: (typeof tool === 'string' ? undefined : tool.description) ?? `The tool ${name}.`,
        parameters: (typeof tool === 'string' ? undefined : tool.parameters) ?? NO_PARAMETERS,
      },
    }));
  }

  executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const call: FakeToolCall = {
      sessionKey,
      name,
      args: parsed(args),
      rawArgs: args,
      options,
      startedAtMs: this.#clock.now(),
      endedAtMs: null,
      abortedAtMs: options.signal?.aborted ? this.#clock.now() : null,
      result: null,
    };
    this.calls.push(call);
    const tool = Object.hasOwn(this.#tools, name) ? this.#tools[name] : undefined;
    if (tool === undefined) return Promise.resolve(this.#end(call, failure(`Tool '${name}' not found`)));
    return this.#run(typeof tool === 'string' ? { outcome: tool } : tool, call);
  }

  #run(tool: FakeTool, call: FakeToolCall): Promise<ToolResult> {
    const { signal } = call.options;
    const abortable = tool.abortable ?? true;
    return new Promise((resolve, reject) => {
      const finish = () => {
        signal?.removeEventListener('abort', onAbort);
        const outcome = typeof tool.outcome === 'function' ? tool.outcome(call.args, call) : tool.outcome;
        const settled =
          typeof outcome === 'string' ? ({ type: 'result', content: outcome } as const) : outcome;
        switch (settled.type) {
          case 'result':
            resolve(this.#end(call, { content: settled.content, isError: false }));
            break;
          case 'error':
            resolve(this.#end(call, failure(settled.message)));
            break;
          case 'throw':
            call.endedAtMs = this.#clock.now();
            reject(settled.error);
            break;
          case 'hang':
            signal?.addEventListener('abort', onAbort, { once: true });
            break;
          default:
            settled satisfies never;
        }
      };
      const timer = this.#clock.setTimeout(finish, tool.latencyMs ?? 0);
      const onAbort = () => {
        call.abortedAtMs ??= this.#clock.now();
        if (!abortable) return;
        timer.clear();
        resolve(this.#end(call, failure('Aborted')));
      };
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #end(call: FakeToolCall, result: ToolResult): ToolResult {
    call.endedAtMs = this.#clock.now();
    call.result = result;
    return result;
  }
}

function failure(message: string): ToolResult {
  return { content: `Error: ${message}`, isError: true };
}

function parsed(args: unknown): unknown {
  if (typeof args !== 'string') return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}
