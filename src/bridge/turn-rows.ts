/**
 * A turn of a call as rows of the host's session file: the caller's words, tools and their results, what the caller
 * heard.
 *
 * @module
 */

import type { TurnRow } from '../store/index.ts';

/** `session/append`, docs/reference/bridge.md. */
export type SessionRow = {
  readonly timestamp: string;
  readonly source: 'voice';
  readonly voice_turn: string;
} & (
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: null; readonly tool_calls: readonly unknown[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }
);

/** The tool whose turns the agent has written down already. */
const ASK_AGENT = 'ask_agent';

/** Key under which a turn is written once. */
export const turnKey = ({ callId, turn }: Pick<TurnRow, 'callId' | 'turn'>): string => `${callId}#${turn}`;

/** Rows of a turn; none when there is nothing to say, or when the agent wrote it itself. */
export function turnRows(turn: TurnRow): SessionRow[] {
  const common = {
    timestamp: new Date(turn.startedAt).toISOString(),
    source: 'voice',
    voice_turn: turnKey(turn),
  } as const;
  // The agent's own rows hold the request and its answer; a request that failed may have left none.
  const isDelegated = turn.tools.some((tool) => tool.name === ASK_AGENT && !tool.isError);
  const tools = isDelegated ? turn.tools.filter((tool) => tool.name !== ASK_AGENT) : turn.tools;
  const rows: SessionRow[] = [];
  if (turn.userText && !isDelegated) rows.push({ role: 'user', content: turn.userText, ...common });
  if (tools.length > 0) {
    const calls = tools.map(({ callId, name, args }) => ({
      id: callId,
      type: 'function',
      function: { name, arguments: args },
    }));
    rows.push({ role: 'assistant', content: null, tool_calls: calls, ...common });
    for (const { callId, name, output } of tools)
      rows.push({ role: 'tool', tool_call_id: callId, name, content: output, ...common });
  }
  if (turn.assistantText && !isDelegated)
    rows.push({ role: 'assistant', content: turn.assistantText, ...common });
  return rows;
}
