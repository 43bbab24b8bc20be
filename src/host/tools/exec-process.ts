/**
 * One shell command in a process group of its own: bounded in time and output, and gone when nobody waits for it.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../clock.ts';

/** Characters of one stream that are kept, half from its start and half from its end. */
const MAX_STREAM_CHARS = 10_000;

/** How long output may still come after the shell has ended. */
export const OUTPUT_GRACE_MS = 500;

/** The start and the end of a stream; what is between is counted and dropped. */
class OutputEnds {
  #head = '';
  #tail = '';
  #dropped = 0;

  push(text: string): void {
    const half = MAX_STREAM_CHARS / 2;
    const room = half - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(Math.max(0, room));
    const over = this.#tail.length - half;
    if (over > 0) {
      this.#dropped += over;
      this.#tail = this.#tail.slice(over);
    }
  }

  get text(): string {
    if (this.#dropped === 0) return this.#head + this.#tail;
    return `${this.#head}\n\n... (${this.#dropped.toLocaleString('en-US')} chars truncated) ...\n\n${this.#tail}`;
  }
}

export interface ExecRequest {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export type ExecOutcome =
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly stdout: string;
      readonly stderr: string;
    }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'failed'; readonly message: string };

/** Kills the whole group, so that nothing the shell started is left. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone already.
  }
}

/** Runs a command with `sh -c`; never rejects. */
export function runCommand(request: ExecRequest): Promise<ExecOutcome> {
  return new Promise<ExecOutcome>((resolve) => {
    const { clock, signal } = request;
    const stdout = new OutputEnds();
    const stderr = new OutputEnds();
    const child = spawn('/bin/sh', ['-c', request.command], {
      cwd: request.cwd,
      env: { ...request.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let grace: { clear(): void } | null = null;
    let settled = false;
    let hasExited = false;
    const settle = (outcome: ExecOutcome) => {
      if (settled) return;
      settled = true;
      timer.clear();
      grace?.clear();
      signal.removeEventListener('abort', onAbort);
      // Once it has exited its number may be another's.
      if (!hasExited) killGroup(child);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(outcome);
    };
    const onAbort = () => settle({ kind: 'aborted' });
    const timer = clock.setTimeout(() => settle({ kind: 'timed-out' }), request.timeoutMs);
    const exited = (code: number | null) =>
      settle({ kind: 'exited', code, stdout: stdout.text, stderr: stderr.text });
    child.stdout.setEncoding('utf8').on('data', (text: string) => stdout.push(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
    child.on('error', (error) => settle({ kind: 'failed', message: error.message }));
    child.on('close', exited);
    child.on('exit', (code) => {
      // What it left in the background goes with it; a stream somebody else still holds isn't waited for.
      killGroup(child);
      hasExited = true;
      grace = clock.setTimeout(() => exited(code), OUTPUT_GRACE_MS);
    });
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
