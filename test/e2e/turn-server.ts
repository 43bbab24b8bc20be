/** Debian's `coturn` on loopback, with short-lived credentials from a shared secret, for tests of relayed calls. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from './own-network.ts';

export interface TurnServer {
  /** `turn:127.0.0.1:<port>?transport=udp` */
  readonly url: string;
  readonly secret: string;
  readonly port: number;
  /** What it has said so far: allocations, refusals. */
  log(): string;
  stop(): Promise<void>;
}

/** Why there is no TURN server here; `null` when there is one. */
export function noTurnServer(): string | null {
  return isInstalled('turnserver') ? null : 'coturn is not installed';
}

/** Starts it on a free port of 127.0.0.1; it relays to loopback only. */
export async function startTurnServer(): Promise<TurnServer> {
  const folder = mkdtempSync(join(tmpdir(), 'coturn-'));
  const port = await freePort();
  const secret = 'a-secret-of-the-test';
  const config = join(folder, 'turn.conf');
  writeFileSync(
    config,
    [
      'listening-ip=127.0.0.1',
      'relay-ip=127.0.0.1',
      `listening-port=${port}`,
      'fingerprint',
      'use-auth-secret',
      `static-auth-secret=${secret}`,
      'realm=test',
      // Both ends are on this machine.
      'allow-loopback-peers',
      'no-tls',
      'no-dtls',
      'no-cli',
      'no-rfc5780',
      'verbose',
      'log-file=stdout',
      'simple-log',
      `pidfile=${join(folder, 'turn.pid')}`,
      `userdb=${join(folder, 'turn.db')}`,
      '',
    ].join('\n'),
  );
  const child = spawn('turnserver', ['-c', config], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (log += String(data)));
  await answers(port, child, () => log);
  return {
    url: `turn:127.0.0.1:${port}?transport=udp`,
    secret,
    port,
    log: () => log,
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await exited;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

/** Asks with STUN until it answers. */
async function answers(port: number, child: ChildProcess, log: () => string): Promise<void> {
  const socket = createSocket('udp4');
  const binding = Buffer.alloc(20);
  binding.writeUInt16BE(0x0001, 0);
  binding.writeUInt32BE(0x2112a442, 4);
  let isThere = false;
  socket.on('message', () => {
    isThere = true;
  });
  try {
    for (let i = 0; i < 200 && !isThere; i++) {
      if (child.exitCode !== null) break;
      socket.send(binding, port, '127.0.0.1');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    socket.close();
  }
  if (!isThere) throw new Error(`The TURN server did not start:\n${log()}`);
}
