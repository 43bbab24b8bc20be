import type { ColumnType } from 'kysely';

/** The columns as both engines give them back; times are epoch ms, flags 0 or 1. */
export interface Tables {
  calls: {
    id: string;
    node: string;
    session_key: string;
    carrier: string;
    provider: string;
    identity_strength: string;
    started_at: number;
    ended_at: number | null;
    end_reason: string | null;
  };
  turns: {
    call_id: string;
    turn: number;
    session_key: string;
    started_at: number;
    user_text: string | null;
    assistant_text: string | null;
    final_at: number | null;
    projected: ColumnType<number, number | undefined, number>;
  };
  turn_tools: {
    call_id: string;
    turn: number;
    tool_call_id: string;
    seq: number;
    name: string;
    args: string;
    output: string;
    is_error: number;
  };
}
