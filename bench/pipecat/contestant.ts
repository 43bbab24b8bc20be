/**
 * Pipecat in a process of its own (`server.py`), which answers what the other contestants' processes answer.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { next, stop } from '../lib/child.ts';

const SERVER = fileURLToPath(new URL('server.py', import.meta.url));

export interface RunningPipecat {
  readonly child: ChildProcess;
  /** Host and port. */
  readonly address: string;
  stop(): Promise<void>;
}

/** @param python - of the environment that `install.ts` made */
export async function startPipecat(
  python: string,
  modelUrl: string,
  flags: readonly string[] = [],
): Promise<RunningPipecat> {
  const child = spawn(python, [SERVER, modelUrl, ...flags], {
    // At its default it writes a line for every event of a pipeline.
    env: { PATH: process.env.PATH ?? '', LOGURU_LEVEL: 'ERROR' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const address = await next(child, (message) => (message as { ready?: string }).ready);
  return { child, address, stop: () => stop(child) };
}
