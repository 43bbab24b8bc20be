/**
 * A process of the benchmark, and questions to it.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Usage } from './probe.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROBE = new URL('./probe.ts', import.meta.url).href;
const QUIET = '--disable-warning=ExperimentalWarning';

export interface ForkOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
  readonly args?: readonly string[];
  /** Loads what answers `usageOf`. @defaultValue true */
  readonly probed?: boolean;
  /** Sees what it prints. */
  readonly onOutput?: (text: string) => void;
}

/** Starts a source of ours. The machine's environment is kept from it. */
export function start(path: string, options: ForkOptions = {}): ChildProcess {
  const child = fork(path, [...(options.args ?? [])], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', ...options.env },
    execArgv: [QUIET, ...(options.probed === false ? [] : ['--import', PROBE]), ...(options.execArgv ?? [])],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  child.stdout?.on('data', (data) => options.onOutput?.(String(data)));
  return child;
}

/** The next message that `pick` wants. */
export function next<T>(child: ChildProcess, pick: (message: unknown) => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      const picked = pick(message);
      if (picked === undefined) return;
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(picked);
    };
    const onExit = (code: number | null) => reject(new Error(`A process of the benchmark ended (${code}).`));
    child.on('message', onMessage);
    child.once('exit', onExit);
  });
}

let questions = 0;

export function usageOf(child: ChildProcess, collect = false): Promise<Usage> {
  const probe = ++questions;
  const answer = next(child, (message) => {
    const { probe: of, usage } = message as { probe?: number; usage?: Usage };
    return of === probe ? usage : undefined;
  });
  child.send({ probe, collect });
  return answer;
}

/** One question of a process that answers `{ reply }` to `{ ask }`. */
export function ask<T>(
  child: ChildProcess,
  question: { readonly ask: string; readonly [key: string]: unknown },
) {
  const answer = next(child, (message) => (message as { reply?: { of: string; value: T } }).reply);
  child.send(question);
  return answer.then(({ value }) => value);
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
