/**
 * The gateway in a process of its own, as `npm start` runs it, for benchmarks.
 *
 * @module
 */

import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start, stop } from './lib/child.ts';

/** As the package's `start` script has it: what frames leave behind dies young, in a nursery of one size from the start. */
export const START_FLAGS = ['--v8-pool-size=1', '--min-semi-space-size=16', '--max-semi-space-size=16'];

export interface RunningGateway {
  readonly child: ChildProcess;
  readonly url: string;
  /** As it shows it once, at the first start in its home folder. */
  readonly operatorToken: string;
  /** From the start of the process to the line that says it listens. */
  readonly startMs: number;
  /** Memory that the system counts for it now, in bytes (`VmRSS` of `/proc`). */
  residentBytes(): number;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
  /** Further words behind `start`. */
  readonly flags?: readonly string[];
  /** Without it the process is what `npm start` starts and nothing else. @defaultValue false */
  readonly probed?: boolean;
}

/** Starts it on a free port with a home folder of its own; the machine's keys are kept from it. */
export async function startGateway(
  realtime: Record<string, unknown>,
  { env = {}, execArgv = [], flags = [], probed = false }: GatewayOptions = {},
): Promise<RunningGateway> {
  const home = mkdtempSync(join(tmpdir(), 'bench-'));
  mkdirSync(join(home, 'workspace'));
  const config = join(home, 'config.json');
  const channel = { server: { port: 0 }, logLevel: 'error', ...realtime };
  writeFileSync(config, JSON.stringify({ channels: { realtime: channel } }));
  let printed = '';
  let listening = (_url: string) => {};
  const startedAt = performance.now();
  const child = start('bin/nanobot-realtime.js', {
    args: ['start', '--config', config, ...flags],
    env: { HOME: home, ...env },
    execArgv: [...START_FLAGS, ...execArgv],
    probed,
    onOutput: (text) => {
      printed += text;
      const address = /Listening\s+(https?:\S+)/.exec(printed)?.[1];
      if (address) listening(address);
    },
  });
  const url = await new Promise<string>((resolve, reject) => {
    listening = resolve;
    child.on('exit', () => reject(new Error(`The gateway did not start:\n${printed}`)));
  });
  return {
    child,
    url,
    operatorToken: /shown this once[^\n]*\n\s+(\S+)\n/.exec(printed)?.[1] ?? '',
    startMs: performance.now() - startedAt,
    residentBytes: () => residentBytes(child.pid ?? 0),
    stop: async () => {
      await stop(child);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024;
}
