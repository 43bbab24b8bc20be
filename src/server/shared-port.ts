/**
 * One of several workers behind one port: connections come to it over a channel, and what is asked of the gateway as a
 * whole is answered with what the others say.
 *
 * @module
 */

import type { Server } from 'node:http';
import type { WorkerSlot } from '../worker-slot.ts';
import type { Desk } from './desk.ts';
import type { Readiness, ReadyChecks } from './health.ts';
import type { ListeningAddress } from './listen.ts';
import type { ServerMetrics } from './metrics.ts';

/** Takes this worker's connections. One request each: the next one of a client may be for another worker. */
export function listenBehind(slot: WorkerSlot, server: Server): ListeningAddress {
  server.maxRequestsPerSocket = 1;
  // The bound alone tells the client to close, and waits for it.
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  let open = 0;
  slot.onConnection((socket) => {
    if (open >= server.maxConnections) {
      socket.destroy();
      return;
    }
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    server.emit('connection', socket);
  });
  // Its clock for requests that come too slowly starts when it listens, and it never does by itself.
  server.emit('listening');
  return slot.address;
}

export interface OwnParts {
  readonly ready: ReadyChecks;
  readonly isDraining: () => boolean;
  readonly desk: Desk;
  readonly metrics: ServerMetrics;
  readonly pageCalls: () => number;
}

/** What this worker says of itself when the others, or the process that listens, ask. */
export function answerOthers(
  slot: WorkerSlot,
  { ready, isDraining, desk, metrics, pageCalls }: OwnParts,
): void {
  slot.answers('ready', async () => {
    const { ready: isReady, checks } = await ready.run(isDraining());
    return { ready: isReady, checks };
  });
  slot.answers('figures', () => ({ live: desk.activeCalls, pending: desk.pendingCalls, page: pageCalls() }));
  slot.answers('metrics', () => metrics.registry.getMetricsAsJSON());
  slot.answers('hang_up', ({ callId }) => {
    const call = desk.call(callId);
    call?.end('agent_hangup');
    return call !== undefined;
  });
}

export async function workerCounts(slot: WorkerSlot): Promise<{ running: number; of: number }> {
  return { running: 1 + (await slot.askOthers<'figures'>({ kind: 'figures' })).length, of: slot.of };
}

/** Ready while one worker is; a check counts as failed where it fails for any. */
export async function readyOfAll(
  slot: WorkerSlot,
  own: Readiness,
): Promise<Readiness & { readonly workers: { readonly ready: number; readonly of: number } }> {
  const all = [own, ...(await slot.askOthers<'ready'>({ kind: 'ready' }))];
  const ready = all.filter((each) => each.ready).length;
  const checks = { ...own.checks };
  for (const each of all)
    for (const [name, state] of Object.entries(each.checks)) if (state === 'failed') checks[name] = state;
  return { ready: ready > 0, draining: own.draining, checks, workers: { ready, of: slot.of } };
}
