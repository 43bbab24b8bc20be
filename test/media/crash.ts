import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RECONCILE_SETTLE_MS } from '../../src/media/index.ts';
import { type OutboxRow, openStore } from '../../src/store/index.ts';
import { FakeMessaging, type MessagingBehaviour } from '../../src/testing/fake-messaging.ts';
import type { CrashPlan } from './crash-worker.ts';

const worker = fileURLToPath(new URL('./crash-worker.ts', import.meta.url));
/** Lives until everything must be settled (a failed attempt takes two: one asks, one sends); each is later than the one before by more than any lease. */
const MAX_LIVES = 16;
const LIFE_MS = 10 * 60_000;
/** Kills in one run: in the life that sends, and in the one that makes it good. */
export const KILLS = 2;

/** A small generator: the same seed, the same run. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface CrashResult {
  readonly lives: string[];
  /** Calls whose model was told `queued`. */
  readonly queued: ReadonlySet<string>;
  readonly rows: readonly OutboxRow[];
  /** Messages that the carrier took, by number. */
  readonly taken: ReadonlyMap<string, number>;
  readonly numbers: ReadonlyMap<string, string>;
}

/** Runs two calls, killed at random steps of the first lives, until a life ends by itself with nothing left to do. */
export async function crashRun(seed: number, isListDown = false): Promise<CrashResult> {
  const random = randomOf(seed);
  const directory = mkdtempSync(join(tmpdir(), 'media-crash-'));
  let skewMs = 0;
  const carrier = await FakeMessaging.listen({ now: () => Date.now() + skewMs });
  carrier.isListDown = isListDown;
  const bad: MessagingBehaviour[] = [
    { kind: 'accept' },
    { kind: 'accept_then_reset' },
    { kind: 'reset' },
    { kind: 'server_error' },
    { kind: 'rate_limit', retryAfterS: 5 },
  ];
  carrier.next(
    ...Array.from({ length: 3 }, () => bad[Math.floor(random() * bad.length)] as MessagingBehaviour),
  );
  const calls = [`${seed}-a`, `${seed}-b`];
  const lives: string[] = [];
  const queued = new Set<string>();
  try {
    for (let life = 0; life < MAX_LIVES; life += 1) {
      const killAtStep = life < KILLS ? 1 + Math.floor(random() * (life === 0 ? 22 : 8)) : 0;
      const { accountSid, authToken, baseUrl } = carrier;
      const ofLife = life === 0 ? calls : [];
      const output = await live({
        directory,
        baseUrl,
        accountSid,
        authToken,
        calls: ofLife,
        killAtStep,
        skewMs,
      });
      lives.push(output.trim().replaceAll('\n', ', '));
      for (const [, callId] of output.matchAll(/^queued (.+)$/gm)) if (callId) queued.add(callId);
      skewMs += LIFE_MS + RECONCILE_SETTLE_MS;
      if (life >= KILLS && (await isSettled(directory, isListDown))) break;
    }
    const store = await openStore({ engine: 'sqlite', file: join(directory, 'realtime.db') });
    const rows = await store.listOutbox();
    await store.close();
    const taken = new Map<string, number>();
    for (const { to } of carrier.messages) taken.set(to, (taken.get(to) ?? 0) + 1);
    const numbers = new Map(calls.map((callId, index) => [callId, `+1555010${1000 + index}`]));
    return { lives, queued, rows, taken, numbers };
  } finally {
    await carrier.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function live(plan: CrashPlan): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', worker, JSON.stringify(plan)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  if (plan.killAtStep === 0 && child.exitCode !== 0) throw new Error(`a life failed: ${output}`);
  return output;
}

async function isSettled(directory: string, isListDown: boolean): Promise<boolean> {
  const store = await openStore({ engine: 'sqlite', file: join(directory, 'realtime.db') });
  const open = await store.listOutbox({ status: ['pending', 'retryable', 'sending'] });
  await store.close();
  return open.every(({ lastError }) => isListDown && lastError === 'unknown');
}

/** What is wrong with a run; nothing, when the promises hold. */
export function brokenPromises({ queued, rows, taken, numbers }: CrashResult, isListDown = false): string[] {
  const broken: string[] = [];
  for (const [callId, number] of numbers) {
    const row = rows.find(({ event }) => event.callId === callId);
    const times = taken.get(number) ?? 0;
    if (times > 1) broken.push(`${callId} was delivered ${times} times`);
    if (queued.has(callId) && !row) broken.push(`${callId} is lost: the model was told, and there is no row`);
    if (!row) {
      if (times > 0) broken.push(`${callId} was delivered without a row`);
      continue;
    }
    const isUnknown = row.status === 'sending' && row.lastError === 'unknown';
    if (row.status === 'sent' && times !== 1)
      broken.push(`${callId} is called sent and was taken ${times} times`);
    if (!isListDown && row.status !== 'sent')
      broken.push(`${callId} ended as ${row.status} (${row.lastError})`);
    if (isListDown && row.status !== 'sent' && !isUnknown)
      broken.push(`${callId} ended as ${row.status} (${row.lastError}), neither sent nor unknown`);
  }
  return broken;
}
