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
  approvals: {
    id: string;
    tenant: string;
    session_key: string;
    channel: string;
    chat_id: string;
    call_id: string | null;
    tool_call_id: string | null;
    tool: string;
    args: string | null;
    args_shown: string;
    args_hash: string;
    summary: string;
    policy_version: string;
    requester: string | null;
    approvers: string | null;
    mode: string;
    min_input: string;
    generation: number;
    status: string;
    created_at: number;
    prompted_at: number | null;
    expires_at: number;
    decided_at: number | null;
    decided_by: string | null;
    decided_input: string | null;
    reason: string | null;
    grant_scope: string | null;
    executor: string | null;
    started_at: number | null;
    finished_at: number | null;
    outcome: string | null;
    delivered_at: number | null;
    resolution: string | null;
    resolved_by: string | null;
    resolved_at: number | null;
  };
  approval_events: {
    approval_id: string;
    seq: number;
    at: number;
    kind: string;
    by: string | null;
    input: string | null;
  };
  approval_grants: {
    id: string;
    tenant: string;
    tool: string;
    scope: string;
    scope_key: string;
    args: string;
    created_at: number;
    created_by: string;
    approval_id: string | null;
    revoked_at: number | null;
  };
}
