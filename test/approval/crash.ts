import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { type ApprovalSystem, createApprovals } from '../../src/approval/index.ts';
import { realClock } from '../../src/clock.ts';
import { approvalsSchema } from '../../src/config-approvals.ts';
import type { ExecuteToolOptions, ToolResult } from '../../src/gateway/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';

const CHILD = fileURLToPath(new URL('./crash-child.ts', import.meta.url));

interface Killed {
  readonly asked: ReadonlySet<number>;
  readonly decided: ReadonlySet<number>;
}

/** Runs the child until it dies: by itself at a point, or so many ms after it is ready. */
function runAndKill(
  file: string,
  log: string,
  point: string,
  count: number,
  afterMs: number | null,
): Promise<Killed> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CHILD, file, log, point, String(count)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const asked = new Set<number>();
    const decided = new Set<number>();
    let timer: NodeJS.Timeout | undefined;
    const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [what, n] = line.split(' ');
      if (what === 'ready' && afterMs !== null) timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
      if (what === 'asked') asked.add(Number(n));
      if (what === 'decided') decided.add(Number(n));
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      clearTimeout(timer);
      clearTimeout(patience);
      if (signal === 'SIGKILL') resolve({ asked, decided });
      else reject(new Error('The child was not killed.'));
    });
  });
}

const lines = (log: string) =>
  existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean).map(Number) : [];

/** Kills a process, starts another one on what is left, and looks at what it makes of it. */
export async function crash(point: string, count: number, afterMs: number | null = null) {
  const folder = mkdtempSync(join(tmpdir(), 'approval-crash-'));
  const [file, log] = [join(folder, 'realtime.db'), join(folder, 'effects')];
  try {
    const killed = await runAndKill(file, log, point, count, afterMs);
    const before = lines(log);
    const { appendFileSync } = await import('node:fs');
    const store = await openStore({ engine: 'sqlite', file });
    const atDeath = await store.listApprovals({ limit: 1000 });
    const system = createApprovals({
      config: approvalsSchema.parse({ toolGate: { requireApproval: ['effect'] } }),
      store,
      clock: realClock,
      logger: silentLogger,
      dataDirectory: null,
      locale: 'en-us',
      toolTimeoutMs: 60_000,
      executor: 'local',
      recogniser: null,
    }) as ApprovalSystem;
    const executeTool = async (
      sessionKey: string,
      name: string,
      args: unknown,
      options: ExecuteToolOptions,
    ): Promise<ToolResult> => {
      const verdict = await system.gate.check({
        sessionKey,
        name,
        args,
        channel: options.channel,
        chatId: 'c',
      });
      if (!verdict.run) return verdict.result;
      appendFileSync(log, `${(args as { n: number }).n}\n`);
      return { content: 'done', isError: false };
    };
    await system.start({ gateway: { executeTool }, message: () => true });
    await system.close();
    // More than the worker takes at once waits for its next look.
    const records = await store.listApprovals({ limit: 1000 });
    await store.close();
    return { ...killed, before, after: lines(log), atDeath, records };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Nothing ran twice, nothing was lost, every record tells the truth. */
export function checkTruth({ asked, decided, after, records }: Awaited<ReturnType<typeof crash>>): void {
  const byNumber = new Map(records.map((each) => [(JSON.parse(each.argsShown) as { n: number }).n, each]));
  const runs = (n: number) => after.filter((each) => each === n).length;
  for (const n of after) expect(byNumber.has(n), `effect ${n} has its record`).toBe(true);
  for (const n of asked) expect(byNumber.has(n), `request ${n} is not lost`).toBe(true);
  for (const n of decided) expect(byNumber.get(n)?.decidedAt, `decision ${n} is not lost`).not.toBeNull();
  for (const [n, { status, decidedAt }] of byNumber) {
    expect(runs(n), `${n} (${status})`).toBeLessThanOrEqual(1);
    switch (status) {
      case 'pending':
        expect([runs(n), decidedAt]).toEqual([0, null]);
        break;
      case 'denied':
      case 'expired':
      case 'cancelled':
      case 'approved':
        expect(runs(n)).toBe(0);
        break;
      case 'executed':
        expect(runs(n)).toBe(1);
        break;
      case 'unknown':
        expect(decidedAt).not.toBeNull();
        break;
      default:
        expect.unreachable(`after a restart no record is ${status}`);
    }
  }
}

/** A small generator, so that a seed that failed can be run again. */
export function* randomMs(seed: number): Generator<number, never> {
  let state = seed >>> 0;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield (state / 0x1_0000_0000) * 120;
  }
}
