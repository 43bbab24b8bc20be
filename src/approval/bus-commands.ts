/**
 * `/approve <id> [call|session|always]` and `/deny <id> [reason]` as messages in another of the host's channels, from a
 * listed approver. Nothing else is a decision: not "yes", not an emoji, and never the head of a queue.
 *
 * @module
 */

import type { ToolGateConfig } from '../config-approvals.ts';
import type { ApprovalStore } from '../store/index.ts';
import type { Approvals } from './approvals.ts';
import type { GrantScope, Refusal } from './decision.ts';

export interface BusSender {
  readonly channel: string;
  readonly senderId: string;
  readonly chatId: string;
  readonly content: string;
}

type Command =
  | { readonly kind: 'approve'; readonly id: string; readonly scope: GrantScope }
  | { readonly kind: 'deny'; readonly id: string; readonly reason: string | undefined }
  | { readonly kind: 'usage' };

const USAGE =
  'Usage: /approve <id> [call|session|always] or /deny <id> [reason]. The id is on the card; its first 8 characters are enough.';
const ID = /^[0-9a-f]{8,32}$/i;

/** `null`: not a command of ours, the message is for the agent. */
export function parseCommand(content: string): Command | null {
  const match = /^\/(approve|deny)(?:@\S+)?(?:\s+([\s\S]*))?$/.exec(content.trim());
  if (!match) return null;
  const words = (match[2] ?? '').trim().split(/\s+/);
  const id = words.shift() ?? '';
  if (!ID.test(id)) return { kind: 'usage' };
  if (match[1] === 'deny') {
    const reason = words.join(' ');
    return { kind: 'deny', id: id.toLowerCase(), reason: reason === '' ? undefined : reason };
  }
  const [scope = 'once', ...rest] = words;
  const known = scopes.get(scope);
  if (known === undefined || rest.length > 0) return { kind: 'usage' };
  return { kind: 'approve', id: id.toLowerCase(), scope: known };
}

// A word that isn't known grants nothing: it is answered with the usage.
const scopes: ReadonlyMap<string, GrantScope> = new Map([
  ['once', 'once'],
  ['call', 'call'],
  ['session', 'session'],
  ['always', 'permanent'],
  ['permanent', 'permanent'],
]);

export const REFUSAL_TEXTS: Readonly<Record<Refusal, string>> = {
  not_found: 'There is no such request.',
  already_decided: 'It was decided already; nothing was changed.',
  expired: 'It is past its time. Ask the agent to try again.',
  not_an_approver: 'You are not among those who may decide this.',
  own_request: 'Whoever asked for it may not approve it.',
  input_too_weak: 'This tool wants a stronger way to approve.',
  scope_not_allowed: 'A grant for good comes from the operator’s page or the command line only.',
  stale_connection: 'That prompt belonged to a connection that is gone.',
  denied_by_policy: 'The policy forbids this tool, whoever approves.',
};

/** Finds a record by its id or the beginning of it; of two that begin so, none. */
export async function findApproval(store: ApprovalStore, id: string) {
  if (id.length === 32) return store.getApproval(id);
  const records = await store.listApprovals({ limit: 1000 });
  const matching = records.filter((record) => record.id.startsWith(id));
  return matching.length === 1 ? (matching[0] ?? null) : null;
}

/** The answer to a message that is a command; `null` when it is none. */
export async function runBusCommand(
  message: BusSender,
  approvals: Approvals,
  gate: ToolGateConfig,
): Promise<string | null> {
  const command = parseCommand(message.content);
  if (!command) return null;
  const sender = `${message.channel}:${message.senderId}`;
  const approver = gate.approvers.find(({ senders }) => senders.includes(sender));
  // Whoever is not listed learns nothing about what waits.
  if (!approver) return REFUSAL_TEXTS.not_an_approver;
  if (command.kind === 'usage') return USAGE;
  const record = await findApproval(approvals.store, command.id);
  if (!record) return REFUSAL_TEXTS.not_found;
  const result = await approvals.decide({
    id: record.id,
    approve: command.kind === 'approve',
    by: approver.name,
    input: 'message',
    sender,
    ...(command.kind === 'approve' ? { scope: command.scope } : {}),
    ...(command.kind === 'deny' && command.reason !== undefined ? { reason: command.reason } : {}),
  });
  if (!result.ok) return REFUSAL_TEXTS[result.why];
  return command.kind === 'approve'
    ? `Approved: ${record.summary}. It runs now.`
    : `Denied: ${record.summary}. Nothing runs.`;
}
