/**
 * The tool registry, and the only way to a tool. It decides what a call means (name, arguments, casts,
 * validation) and turns every failure into a result that a model can read.
 *
 * Semantics and texts follow nanobot 0.3.0, `agent/tools/registry.py` and `agent/tools/base.py`.
 *
 * @module
 */

import { VoiceError } from '../errors.ts';
import type { ToolContentBlock, ToolDefinition, ToolResult } from '../gateway/index.ts';
import { untilAborted } from './guards/until-aborted.ts';
import { coerceArguments, isJsonObject, MAX_ARGUMENTS_CHARS } from './registry-arguments.ts';
import { castObject } from './registry-cast.ts';
import { pythonTypeName } from './registry-python.ts';
import { schemaType } from './registry-schema.ts';
import { type Tool, type ToolArguments, type ToolOutput, toolError } from './registry-tool.ts';
import { validateValue } from './registry-validate.ts';

/** Most tools at once; MCP servers decide how many they offer, so there is an end to it. */
export const MAX_TOOLS = 1000;

/** What every error ends with. */
export const ERROR_HINT = '\n\n[Analyze the error above and try a different approach.]';

export interface RegistryExecuteOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
}

type PreparedCall =
  | { readonly ok: true; readonly tool: Tool; readonly args: ToolArguments }
  | { readonly ok: false; readonly error: string };

const lookupKey = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Same text with the hint at its end; in a list of blocks the hint is a block of its own. */
function withHint(result: ToolResult): ToolResult {
  if (typeof result.content === 'string') return toolError(result.content + ERROR_HINT);
  const hint: ToolContentBlock = { type: 'text', text: ERROR_HINT.trimStart() };
  return { content: [...result.content, hint], isError: true };
}

function asResult(output: ToolOutput): ToolResult {
  if (typeof output === 'string') return { content: output, isError: output.startsWith('Error') };
  if (Array.isArray(output)) return { content: output, isError: false };
  if ('isError' in output) return { content: output.content, isError: output.isError };
  throw new TypeError('the tool returned nothing that is a result');
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

function definitionOf(tool: Tool): ToolDefinition {
  const { name, description, parameters } = tool;
  return { type: 'function', function: { name, description, parameters: structuredClone(parameters) } };
}

const byName = (a: ToolDefinition, b: ToolDefinition) =>
  a.function.name < b.function.name ? -1 : a.function.name > b.function.name ? 1 : 0;

export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();
  #definitions: ToolDefinition[] | null = null;

  /**
   * Adds a tool, or replaces the one of the same name (an MCP server that came back does).
   *
   * @throws VoiceError `TOOL_LIMIT_REACHED` beyond `MAX_TOOLS`
   */
  register(tool: Tool): void {
    if (!this.#tools.has(tool.name) && this.#tools.size >= MAX_TOOLS) {
      throw new VoiceError('TOOL_LIMIT_REACHED', `No more than ${MAX_TOOLS} tools can be registered.`);
    }
    this.#tools.set(tool.name, tool);
    this.#definitions = null;
  }

  unregister(name: string): void {
    this.#tools.delete(name);
    this.#definitions = null;
  }

  get(name: string): Tool | null {
    return this.#tools.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Names in the order of registration. */
  get toolNames(): string[] {
    return [...this.#tools.keys()];
  }

  /**
   * OpenAI function schemas: built-ins by name, then `mcp_*` by name. The list is frozen and stays the same
   * object until a tool comes or goes, so that a prompt cache keeps its prefix.
   */
  getDefinitions(): ToolDefinition[] {
    if (this.#definitions === null) {
      const all = [...this.#tools.values()].map(definitionOf);
      const isMcp = (each: ToolDefinition) => each.function.name.startsWith('mcp_');
      const builtins = all.filter((each) => !isMcp(each)).sort(byName);
      this.#definitions = deepFreeze([...builtins, ...all.filter(isMcp).sort(byName)]);
    }
    return this.#definitions;
  }

  /**
   * Runs one tool. Never rejects: an unknown name, wrong arguments, a tool that throws and a cancelled call are
   * results with `isError` and the hint.
   *
   * @param args - an object, or the JSON text a model emitted
   */
  async execute(name: string, args: unknown, options: RegistryExecuteOptions = {}): Promise<ToolResult> {
    try {
      const call = this.#prepare(name, args);
      if (!call.ok) return withHint(toolError(call.error));
      const signal = options.signal ?? new AbortController().signal;
      signal.throwIfAborted();
      const { onProgress } = options;
      const work = call.tool.execute(call.args, { signal, ...(onProgress && { onProgress }) });
      const result = asResult(await untilAborted(work, signal));
      return result.isError ? withHint(result) : result;
    } catch (error) {
      const message = options.signal?.aborted
        ? 'The call was cancelled.'
        : error instanceof Error
          ? error.message
          : String(error);
      return withHint(toolError(`Error executing ${name}: ${message}`));
    }
  }

  #prepare(name: string, args: unknown): PreparedCall {
    const tool = this.#tools.get(name);
    if (tool === undefined) return { ok: false, error: this.#unknown(name) };
    if (typeof args === 'string' && args.length > MAX_ARGUMENTS_CHARS) {
      const error = `Error: Tool '${name}' parameters are too long (at most ${MAX_ARGUMENTS_CHARS} characters).`;
      return { ok: false, error };
    }
    const value = coerceArguments(tool.parameters, args);
    if (!isJsonObject(value)) {
      const error =
        `Error: Tool '${name}' parameters must be a JSON object, got ${pythonTypeName(value)}. Use named parameters ` +
        'like tool_name(param1="value1", param2="value2") matching the tool schema.';
      return { ok: false, error };
    }
    if ((schemaType(tool.parameters) ?? 'object') !== 'object') {
      throw new TypeError(`the schema of '${name}' is not of type object`);
    }
    const cast = castObject(value, tool.parameters);
    const errors = validateValue(cast, { ...tool.parameters, type: 'object' });
    if (errors.length === 0) return { ok: true, tool, args: cast };
    return { ok: false, error: `Error: Invalid parameters for tool '${name}': ${errors.join('; ')}` };
  }

  #unknown(name: string): string {
    const key = lookupKey(name);
    const near = this.toolNames.filter((each) => key !== '' && lookupKey(each) === key);
    const hint = near.length === 1 ? ` Did you mean '${near[0]}'? Tool names must match exactly.` : '';
    return `Error: Tool '${name}' not found.${hint} Available: ${this.toolNames.join(', ')}`;
  }
}
