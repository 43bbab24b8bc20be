/**
 * The approvals board without its looks: columns, what may be done with a card, and where the arrow keys go.
 *
 * @module
 */

import type { Approval, BoardAction } from './schemas.ts';

export const COLUMNS = [
  'Waiting',
  'Approved',
  'Running',
  'Done',
  'Failed',
  'Denied',
  'Expired',
  'Cancelled',
  'Unknown',
] as const;

/** Columns where a person is needed; they are there even when they are empty. */
export const NEEDS_PERSON: ReadonlySet<string> = new Set(['Waiting', 'Unknown']);

export interface Column {
  readonly name: string;
  readonly cards: readonly Approval[];
}

/** Newest first in each column. */
export function columns(approvals: Iterable<Approval>): Column[] {
  const all = [...approvals].sort((a, b) => b.createdAt - a.createdAt);
  return COLUMNS.map((name) => ({ name, cards: all.filter(({ column }) => column === name) }));
}

/** The card that an arrow key leads to; the same one at an edge. Empty columns are stepped over. */
export function neighbour(board: readonly Column[], id: string, key: string): string {
  const at = board.findIndex(({ cards }) => cards.some((card) => card.id === id));
  const row = board[at]?.cards.findIndex((card) => card.id === id) ?? -1;
  if (at < 0 || row < 0) return id;
  if (key === 'ArrowUp' || key === 'ArrowDown')
    return board[at]?.cards[row + (key === 'ArrowDown' ? 1 : -1)]?.id ?? id;
  const step = key === 'ArrowRight' ? 1 : -1;
  for (let column = at + step; column >= 0 && column < board.length; column += step) {
    const { cards } = board[column] ?? { cards: [] };
    const card = cards[Math.min(row, cards.length - 1)];
    if (card) return card.id;
  }
  return id;
}

export type Scope = 'once' | 'call' | 'session' | 'permanent';

export function scopesOf(approval: Approval): readonly (readonly [scope: Scope, label: string])[] {
  return [
    ['once', 'This once'],
    ...(approval.callId === null ? [] : ([['call', 'For the rest of this call']] as const)),
    ['session', 'For this session'],
    ['permanent', 'Always'],
  ];
}

/** Arguments that a grant may be bound to, as text. */
export function argumentsOf(approval: Approval): [name: string, value: string][] {
  const { arguments: args } = approval;
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return [];
  return Object.entries(args).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

export function approve(scope: Scope, bound: readonly string[]): BoardAction {
  return scope === 'once'
    ? { decision: 'approve', scope }
    : { decision: 'approve', scope, bindArguments: [...bound] };
}

export function deny(reason: string): BoardAction {
  const text = reason.trim();
  return text === '' ? { decision: 'deny' } : { decision: 'deny', reason: text };
}
