/**
 * The operator's interface to what is on its way to callers. Numbers, links and what providers said are never shown.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { deliveryAudit } from '../../media/index.ts';
import { type MediaStore, OUTBOX_STATUSES, type OutboxRow } from '../../store/index.ts';
import type { OperatorLogin } from '../pages/operator-login.ts';
import { MAX_LISTED } from './call-routes.ts';

const listQuery = z.object({
  status: z.enum(OUTBOX_STATUSES as [string, ...string[]]).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LISTED).default(50),
});
const idSchema = z.string().regex(/^[\w-]{16}$/);

export interface DeliveryRoutesOptions {
  readonly login: OperatorLogin;
  /** `null` where calls have no media. */
  readonly store: Pick<
    MediaStore,
    'listOutbox' | 'getOutbox' | 'retryOutbox' | 'dropOutbox' | 'addMediaAudit'
  > | null;
  readonly clock: Clock;
}

export function deliveryRoutes({ login, store, clock }: DeliveryRoutesOptions): Hono {
  const app = new Hono();
  app.get('/operator/api/deliveries', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const query = listQuery.safeParse(c.req.query()).data;
    if (!query) throw new VoiceError('REQUEST_INVALID', 'status is one of the outbox’s, limit a number.');
    const status = OUTBOX_STATUSES.find((each) => each === query.status);
    const rows = (await store?.listOutbox({ limit: query.limit, ...(status && { status: [status] }) })) ?? [];
    return c.json({ deliveries: rows.map((row) => view(row, clock.wallNow())) });
  });
  if (!store) return app;
  const act = (name: 'retry' | 'drop', work: (id: string, now: number) => Promise<boolean>) =>
    app.post(`/operator/api/deliveries/:id/${name}`, async (c) => {
      await login.who(c.req.raw.headers, 'write');
      const row = await find(c);
      const now = clock.wallNow();
      if (!(await work(row.deliveryId, now)))
        throw new VoiceError('STORE_CONFLICT', `The delivery is ${stateOf(row)}; that can't be done now.`);
      await store.addMediaAudit(deliveryAudit('delivery.operator', row, now, name));
      return c.json({ delivery: view(await find(c), now) });
    });
  act('retry', (id, now) => store.retryOutbox(id, now));
  act('drop', (id, now) => store.dropOutbox(id, now));

  async function find(c: Context): Promise<OutboxRow> {
    const id = idSchema.safeParse(c.req.param('id'));
    const row = id.success ? await store?.getOutbox(id.data) : null;
    if (!row) throw new VoiceError('MEDIA_NOT_FOUND', 'There is no such delivery.');
    return row;
  }
  return app;
}

function view(row: OutboxRow, now: number) {
  const state = stateOf(row);
  return {
    id: row.deliveryId,
    call: row.event.callId,
    turn: row.event.turn,
    segment: row.segment,
    state,
    kind: row.kind,
    route: row.deliveredBy ?? row.attemptRoute ?? row.target.route,
    attempts: row.attempts,
    why: row.lastError,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
    // A hint for buttons; the store decides.
    canRetry: row.expiresAt > now && ['retryable', 'dead_letter', 'unknown'].includes(state),
    canDrop: state !== 'sent' && state !== 'dead_letter',
  };
}

/** What a person calls it: an attempt whose end nobody saw is `unknown`. */
function stateOf(row: OutboxRow): string {
  return row.status === 'sending' && row.lastError === 'unknown' ? 'unknown' : row.status;
}
