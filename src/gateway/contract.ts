/**
 * The seam: what a channel that opts in receives to run the agent's tools.
 *
 * @module
 */

/** JSON Schema of a tool's parameters, as the registry publishes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** An OpenAI function schema in its nested (chat completions) form. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonSchema;
  };
}

/** One block of a result that is more than text, e.g. an image that `read_file` returned. */
export type ToolContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

/**
 * What a tool gave back. `isError` marks a failure of the call or of the tool; some tools report a refusal
 * as an ordinary result (nanobot's `web_fetch` does), so text is what the model judges by.
 */
export interface ToolResult {
  readonly content: string | readonly ToolContentBlock[];
  readonly isError: boolean;
}

export interface ExecuteToolOptions {
  /** The channel's own name. `websocket` is refused: it is the one name that may reach loopback. */
  readonly channel: string;
  /** Chat the call belongs to; the session key when left out. */
  readonly chatId?: string;
  /** Aborts the tool where the tool can be aborted. */
  readonly signal?: AbortSignal;
  /** Hears how far the tool has got, in a few plain words, from tools that say so. */
  readonly onProgress?: (text: string) => void;
  /** The live call that asks, where it is one: who is on the line may be asked to approve. */
  readonly callId?: string;
  /** The model's own id of this call. */
  readonly toolCallId?: string;
  /** The caller's turn that it answers, as the store counts them. */
  readonly turn?: number;
}

export interface ToolGateway {
  /** Schemas of the live registry: the same list, in the same order, that a text turn gets. */
  getToolDefinitions(): ToolDefinition[];
  /**
   * Runs one tool under exactly the guards of a text turn.
   *
   * @param sessionKey - `channel:chatId`; owns the file state and the session's policy
   * @param args - an object, or the JSON text a model emitted
   * @returns the tool's result; a failure is a result with `isError`, never an exception
   */
  executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult>;
}

/** The text of a result: blocks joined by newlines, images named and left out. */
export function toolResultText(result: ToolResult): string {
  if (typeof result.content === 'string') return result.content;
  return result.content.map((block) => (block.type === 'text' ? block.text : '[image]')).join('\n');
}
