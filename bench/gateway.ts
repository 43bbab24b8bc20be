/**
 * The gateway in a process of its own, as `npm start` runs it, for benchmarks.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

export interface RunningGateway {
  readonly child: ChildProcess;
  readonly url: string;
  /** From the start of the process to the line that says it listens. */
  readonly startMs: number;
  /** Memory that the system counts for it now, in bytes (`VmRSS` of `/proc`). */
  residentBytes(): number;
  stop(): Promise<void>;
}

/** Starts it on a free port with a home folder of its own; the machine's keys are kept from it. */
export async function startGateway(
  realtime: Record<string, unknown>,
  env: Record<string, string> = {},
): Promise<RunningGateway> {
  const home = mkdtempSync(join(tmpdir(), 'bench-'));
  mkdirSync(join(home, 'workspace'));
  const config = join(home, 'config.json');
  const channel = { server: { port: 0 }, logLevel: 'error', ...realtime };
  writeFileSync(config, JSON.stringify({ channels: { realtime: channel } }));
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'start', '--config', config],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (data) => {
      printed += data;
      const address = /Listening\s+(http:\S+)/.exec(printed)?.[1];
      if (address) resolve(address);
    });
    child.on('exit', () => reject(new Error(`The gateway did not start:\n${printed}`)));
  });
  return {
    child,
    url,
    startMs: performance.now() - startedAt,
    residentBytes: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024;
    },
    stop: async () => {
      const gone = new Promise((resolve) => child.on('exit', resolve));
      child.kill('SIGKILL');
      await gone;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}
