/**
 * What the audit says of media: what happened to which turn of which call, and never what was in it.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { MediaAudit, MediaAuditType, OutboxRow, TurnKey } from '../store/index.ts';

interface ToolEvent {
  readonly tenant: string;
  readonly event: TurnKey;
  readonly toolCallId: string;
  readonly tool: string;
}

/** The same thing noted again is the same entry; the model's own id of the call is not in it. */
const idOf = (...parts: readonly (string | number)[]) =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 32);

export function toolAudit(
  type: Extract<MediaAuditType, `tool.${string}`>,
  { tenant, event, toolCallId, tool }: ToolEvent,
  at: number,
  detail: string | null = null,
): MediaAudit {
  return {
    // A request to the agent behind is one call of the model's, and may send with more than one tool.
    id: idOf(tenant, event.callId, event.turn, toolCallId, tool, type),
    at,
    tenant,
    type,
    event,
    tool,
    detail,
  };
}

export function deliveryAudit(
  type: Extract<MediaAuditType, `delivery.${string}`>,
  row: Pick<OutboxRow, 'tenant' | 'event' | 'segment' | 'fence'>,
  at: number,
  detail: string | null,
): MediaAudit {
  const { tenant, event, segment, fence } = row;
  const id = idOf(tenant, event.callId, event.turn, segment, fence, type, detail ?? '');
  return { id, at, tenant, type, event, tool: null, detail };
}
