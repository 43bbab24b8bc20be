/** A turn of a call as rows of a session file. */

import type { TurnKey, TurnRow } from '../../store/index.ts';
import type { SessionRow } from './rows.ts';

/** The mark that makes a turn's projection happen once. */
export const turnMark = ({ callId, turn }: TurnKey): string => `${callId}#${turn}`;

/** user{transcript} → assistant{tool_calls} → tool… → assistant{heard text}; what is not known has no row. */
export function turnRows(turn: TurnRow): SessionRow[] {
  const common = {
    timestamp: new Date(turn.startedAt).toISOString(),
    source: 'voice',
    voice_turn: turnMark(turn),
  };
  const rows: SessionRow[] = [];
  if (turn.userText) rows.push({ role: 'user', content: turn.userText, ...common });
  if (turn.tools.length > 0) {
    rows.push({
      role: 'assistant',
      content: null,
      tool_calls: turn.tools.map((tool) => ({
        id: tool.callId,
        type: 'function' as const,
        function: { name: tool.name, arguments: tool.args },
      })),
      ...common,
    });
    for (const tool of turn.tools) {
      rows.push({
        role: 'tool',
        tool_call_id: tool.callId,
        name: tool.name,
        content: tool.output,
        ...common,
      });
    }
  }
  if (turn.assistantText) rows.push({ role: 'assistant', content: turn.assistantText, ...common });
  return rows;
}

/** `rows` with a turn put where its time is, never into the middle of another turn. */
export function insertTurn(rows: readonly SessionRow[], turn: readonly SessionRow[]): SessionRow[] {
  const [first] = turn;
  if (!first) return [...rows];
  const at = rows.findIndex((row, index) => row.timestamp > first.timestamp && startsTurn(rows, index));
  return at < 0 ? [...rows, ...turn] : rows.toSpliced(at, 0, ...turn);
}

function startsTurn(rows: readonly SessionRow[], index: number): boolean {
  const row = rows[index];
  if (row?.role === 'user') return true;
  return row?.voice_turn !== undefined && row.voice_turn !== rows[index - 1]?.voice_turn;
}
