/** The model that answers text: a chat-completions endpoint. */

import type { ToolDefinition } from '../../gateway/index.ts';

export interface ChatToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly args: string;
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string | readonly unknown[] }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: 'function';
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | readonly unknown[] };

export interface ChatReply {
  readonly text: string | null;
  readonly toolCalls: readonly ChatToolCall[];
}

export interface ChatModel {
  /** @throws VoiceError `MODEL_UNAVAILABLE`, `MODEL_AUTH_FAILED`, `MODEL_PROTOCOL`; `signal`'s reason on abort */
  complete(
    messages: readonly ChatMessage[],
    tools: readonly ToolDefinition[],
    signal: AbortSignal,
  ): Promise<ChatReply>;
}
