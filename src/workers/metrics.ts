/**
 * The metrics of all workers, added up, beside our own.
 *
 * @module
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AggregatorRegistry, Gauge, Registry } from 'prom-client';
import type { Primary } from './primary.ts';

/** Serves them on loopback. @returns where, and what ends it */
export async function startMetrics(primary: Primary, port: number): Promise<{ url: string; close(): void }> {
  const own = ownMetrics(primary);
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    allMetrics(primary, own).then(
      (text) => response.writeHead(200, { 'content-type': own.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve());
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}/metrics`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function allMetrics(primary: Primary, own: Registry): Promise<string> {
  const workers = await primary.askAll<'metrics'>({ kind: 'metrics' });
  // A worker's registry as JSON is what this takes; its types know the file's shape only.
  const together = AggregatorRegistry.aggregate(workers as object[]);
  return `${await together.metrics()}\n${await own.metrics()}`;
}

function ownMetrics(primary: Primary): Registry {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `nanobot_realtime_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  gauge('workers_ready', 'Workers that take calls.', () => primary.counts.ready);
  gauge('worker_restarts', 'Workers that were replaced since the start.', () => primary.counts.restarts);
  gauge(
    'connections_dealt',
    'Connections that were handed to a worker since the start.',
    () => primary.counts.handed,
  );
  gauge(
    'connections_peeking',
    'Connections whose first request has not been seen yet.',
    () => primary.counts.peeking,
  );
  return registry;
}
