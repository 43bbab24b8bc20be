import type { ApprovalRow } from '../../store/index.ts';

/** A decision that came in by webhook, verified. */
export interface WebhookDecision {
  /** `slack:TEAM/USER`, `mattermost:USER` or `signed:NAME`, as the config lists it. */
  readonly user: string;
  readonly id: string;
  readonly approve: boolean;
  /** The same message twice is one decision. */
  readonly replayKey: string;
  readonly reason?: string;
}

/** Title of a card. */
export function cardTitle(record: ApprovalRow, assignee: string): string {
  return `Approval for ${assignee}: ${record.tool}`.slice(0, 200);
}

/** Lines of a card, plain. */
export function cardFacts(record: ApprovalRow): readonly (readonly [string, string])[] {
  return [
    ['Call', record.summary],
    ['Session', record.sessionKey.split(':')[0] ?? ''],
    ['Waits until', new Date(record.expiresAt).toISOString()],
    ['Request', record.id],
  ];
}
