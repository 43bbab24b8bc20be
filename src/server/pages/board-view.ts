/**
 * A record as the board and the command line get it.
 *
 * @module
 */

import type { ApprovalEvent, ApprovalRow } from '../../store/index.ts';

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

export type Column = (typeof COLUMNS)[number];

export function columnOf({ status, resolution }: Pick<ApprovalRow, 'status' | 'resolution'>): Column {
  switch (status) {
    case 'pending':
      return 'Waiting';
    case 'approved':
      return 'Approved';
    case 'executing':
      return 'Running';
    case 'executed':
      return 'Done';
    case 'failed':
      return 'Failed';
    case 'denied':
      return 'Denied';
    case 'expired':
      return 'Expired';
    case 'cancelled':
      return 'Cancelled';
    case 'unknown':
      // Closed by a person: where they say it belongs.
      return resolution === null ? 'Unknown' : resolution === 'happened' ? 'Done' : 'Failed';
    default:
      return status satisfies never;
  }
}

/** Never the arguments as they run: the redacted copy. */
export function cardView(record: ApprovalRow) {
  const { args: _, argsShown, outcome, ...shown } = record;
  return {
    ...shown,
    column: columnOf(record),
    arguments: JSON.parse(argsShown) as unknown,
    outcome: outcome === null ? null : outcome.slice(0, 2000),
  };
}

export type CardView = ReturnType<typeof cardView>;

export function eventView({ at, kind, by, input }: ApprovalEvent) {
  return { at, kind, by, input };
}
