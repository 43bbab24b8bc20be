/** What calls may leave behind, counted: live objects of the engine, handles of the process, timers, the frame ticker. */

import { queryObjects } from 'node:v8';
import { frameTicker } from '../../src/audio/index.ts';
import { Output } from '../../src/call/output.ts';
import { PlaybackLedger } from '../../src/call/playback.ts';
import { ToolLedger } from '../../src/call/tools.ts';
import { TurnLog } from '../../src/call/turn-log.ts';
import { Emitter } from '../../src/emitter.ts';
import type { FakeClock } from '../../src/testing/index.ts';

/** Each call has one of these, or a few; afterwards nothing may hold them. */
const PARTS = {
  /** A call, its leg and its model sessions are emitters. */
  Emitter,
  Output,
  PlaybackLedger,
  ToolLedger,
  TurnLog,
};

export type Leftovers = Record<keyof typeof PARTS, number>;

/** What an `await` has just returned from can be held until the next turn, and what the compiler's threads work at a while longer. */
const LET_GO_MS = 20;
const letGo = () => new Promise((resolve) => setTimeout(resolve, LET_GO_MS));

/** Live objects, after garbage collections of its own. */
export async function leftovers(): Promise<Leftovers> {
  await letGo();
  // Held by the first collection's own stack, for once.
  queryObjects(Emitter);
  const counted = Object.entries(PARTS).map(([name, part]) => [name, Number(queryObjects(part))]);
  return Object.fromEntries(counted) as Leftovers;
}

/** Sockets, files, timers of the process itself, whoever opened them. */
export function handles(): number {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;
}

/** What the clock still has to do; 0 when nothing of any call is left. */
export function pendingOn(clock: FakeClock): number {
  return clock.pendingTimers + clock.pendingWork + frameTicker(clock).subscriberCount;
}

/** Heap in use, in MB, after everything that can go is gone. Needs `--expose-gc`. */
export async function heapMb(): Promise<number> {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc.');
  for (let n = 0; n < 4; n += 1) {
    await letGo();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
