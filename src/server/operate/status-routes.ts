/**
 * What is configured, and whether it works.
 *
 * @module
 */

import { Hono } from 'hono';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import type { WorkerSlot } from '../../worker-slot.ts';
import type { Desk } from '../desk.ts';
import type { ReadyChecks } from '../health.ts';
import type { OperatorLogin } from '../pages/operator-login.ts';
import { readyOfAll } from '../shared-port.ts';

/** One line of what is configured. No secret, no number, no path is in it. */
export interface ConfiguredPart {
  readonly name: string;
  readonly state: 'ok' | 'off' | 'failed';
  readonly text: string;
}

export interface StatusRoutesOptions {
  readonly login: OperatorLogin;
  readonly config: RealtimeConfig;
  readonly ready: ReadyChecks;
  readonly isDraining: () => boolean;
  readonly desk: Desk;
  readonly pageCalls: () => number;
  readonly version: string;
  readonly configured: () => readonly ConfiguredPart[];
  readonly has: { readonly approvals: boolean; readonly media: boolean; readonly records: boolean };
  readonly clock: Clock;
  /** One worker of several: its calls are not all. */
  readonly slot?: WorkerSlot | null;
}

export function statusRoutes(options: StatusRoutesOptions): Hono {
  const { login, config, ready, isDraining, desk, pageCalls, version, configured, has, clock } = options;
  const { slot = null } = options;
  const startedAt = clock.wallNow();
  const app = new Hono();
  app.get('/operator/api/session', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    return c.json({ role: 'owner', has });
  });
  app.get('/operator/api/status', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const own = await ready.run(isDraining());
    const readiness = slot ? await readyOfAll(slot, own) : own;
    const others = (await slot?.askOthers<'figures'>({ kind: 'figures' })) ?? [];
    const sum = (name: 'live' | 'pending' | 'page') => others.reduce((all, each) => all + each[name], 0);
    return c.json({
      ...readiness,
      version,
      startedAt,
      calls: {
        live: desk.activeCalls + sum('live'),
        pending: desk.pendingCalls + sum('pending'),
        max: config.limits.maxCalls,
        page: pageCalls() + sum('page'),
      },
      configured: configured(),
    });
  });
  return app;
}
