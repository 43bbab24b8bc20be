/** A session's rows as messages of a chat completion. */

import type { ChatMessage } from '../chat/index.ts';
import { rowText, type SessionRow } from '../sessions/index.ts';

/** Rows of the past that the model is shown at most. */
export const MAX_HISTORY_ROWS = 120;
/** Characters of the past that the model is shown at most. */
export const MAX_HISTORY_CHARS = 120_000;

/** The last rows that fit, from the beginning of a turn on, each tool call with its result or not at all. */
export function historyMessages(rows: readonly SessionRow[]): ChatMessage[] {
  let start = rows.length;
  let chars = 0;
  for (let index = rows.length - 1; index >= 0 && rows.length - index <= MAX_HISTORY_ROWS; index -= 1) {
    const row = rows[index];
    chars += row ? JSON.stringify(row.content ?? '').length : 0;
    if (chars > MAX_HISTORY_CHARS) break;
    if (row?.role === 'user') start = index;
  }
  return paired(rows.slice(start));
}

/** Endpoints refuse a call without a result and a result without a call. */
function paired(rows: readonly SessionRow[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const [index, row] of rows.entries()) {
    switch (row.role) {
      case 'user':
        messages.push({ role: 'user', content: rowText(row) });
        break;
      case 'assistant': {
        const answered = resultsAfter(rows, index);
        const calls = (row.tool_calls ?? []).filter((call) => answered.has(call.id));
        const content = rowText(row) || null;
        if (calls.length === 0) {
          if (content !== null) messages.push({ role: 'assistant', content });
          break;
        }
        messages.push({ role: 'assistant', content, tool_calls: calls });
        for (const call of calls) {
          messages.push({ role: 'tool', tool_call_id: call.id, content: answered.get(call.id) ?? '' });
        }
        break;
      }
      case 'tool':
        break;
      default:
        row satisfies never;
    }
  }
  return messages;
}

/** Results in the run of tool rows right behind a row. */
function resultsAfter(rows: readonly SessionRow[], index: number): Map<string, string> {
  const results = new Map<string, string>();
  for (const row of rows.slice(index + 1)) {
    if (row.role !== 'tool') break;
    if (!results.has(row.tool_call_id)) results.set(row.tool_call_id, rowText(row));
  }
  return results;
}
