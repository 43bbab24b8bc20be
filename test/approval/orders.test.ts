import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/approval/canonical-json.ts';
import { Approvals } from '../../src/approval/index.ts';
import { compilePolicy } from '../../src/approval/policy.ts';
import { takeReplayToken } from '../../src/approval/replay-token.ts';
import { ReplayWorker } from '../../src/approval/replay-worker.ts';
import type { Clock } from '../../src/clock.ts';
import { toolGateSchema } from '../../src/config-approvals.ts';
import { silentLogger } from '../../src/observe/index.ts';
import type { ApprovalRow, ApprovalStatus } from '../../src/store/index.ts';
import { MemoryApprovalStore } from './memory-store.ts';

/** What may follow what; everything else is a bug. */
const MAY_BECOME: Record<ApprovalStatus, readonly ApprovalStatus[]> = {
  pending: ['approved', 'denied', 'expired', 'cancelled'],
  approved: ['executing', 'expired', 'cancelled'],
  executing: ['executed', 'failed', 'unknown'],
  executed: [],
  failed: [],
  unknown: [],
  denied: [],
  expired: [],
  cancelled: [],
};

type Step =
  | { readonly do: 'approve' | 'deny'; readonly by: 'anna' | 'bob'; readonly stale: boolean }
  | { readonly do: 'expire' | 'wait' | 'cancel' | 'defer' | 'disconnect' | 'reconnect' | 'sweep' | 'resolve' }
  | { readonly do: 'execute' | 'crash'; readonly node: 0 | 1 };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('approve' as const, 'deny' as const),
      by: fc.constantFrom('anna' as const, 'bob' as const),
      stale: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'expire' as const,
        'wait' as const,
        'cancel' as const,
        'defer' as const,
        'disconnect' as const,
        'reconnect' as const,
        'sweep' as const,
        'resolve' as const,
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('execute' as const, 'execute' as const, 'crash' as const),
      node: fc.constantFrom(0 as const, 1 as const),
    }),
  },
);

class World {
  readonly store = new MemoryApprovalStore();
  readonly policy = compilePolicy(toolGateSchema.parse({ requireApproval: ['*'], defaultMode: 'inline' }));
  readonly ran: { id: string; args: string }[] = [];
  readonly changes: [from: ApprovalStatus, to: ApprovalStatus][] = [];
  readonly #yields: Iterator<number>;
  readonly clock: Clock;
  wall = 1_000_000;
  readonly nodes: { approvals: Approvals; worker: ReplayWorker; crash(): Promise<void> }[] = [];

  constructor(yields: readonly number[], outcomes: readonly ('ok' | 'error' | 'hang')[]) {
    const repeat = function* () {
      for (;;) yield* yields;
    };
    this.#yields = repeat();
    this.store.beforeEach = async () => {
      for (let i = this.#yields.next().value ?? 0; i > 0; i--) await Promise.resolve();
    };
    const change = this.store.changeApproval.bind(this.store);
    this.store.changeApproval = async (...args) => {
      // Read and write in one breath, as the store does it: what it was is known exactly.
      await this.store.beforeEach();
      const yielding = this.store.beforeEach;
      this.store.beforeEach = () => NOW;
      const from = this.store.rows.get(args[0])?.status;
      const promise = change(...args);
      this.store.beforeEach = yielding;
      const row = await promise;
      if (row && from && row.status !== from) this.changes.push([from, row.status]);
      return row;
    };
    this.clock = {
      kind: 'virtual',
      now: () => this.wall,
      wallNow: () => this.wall,
      setTimeout: () => ({ clear: () => {} }),
      track: (work) => work,
    };
    let runs = 0;
    const gateway = {
      executeTool: async (sessionKey: string, tool: string, args: unknown) => {
        const json = JSON.stringify(args);
        const token = takeReplayToken({ sessionKey, tool, argsHash: sha256(json) });
        if (!token) return { content: 'gated', isError: true };
        await Promise.resolve();
        this.ran.push({ id: token.approvalId, args: json });
        const outcome = outcomes[runs++ % outcomes.length];
        if (outcome === 'hang') await new Promise(() => {});
        return { content: 'x', isError: outcome === 'error' };
      },
    };
    for (const executor of ['one', 'two']) this.nodes.push(this.#node(executor, gateway));
  }

  #node(executor: string, gateway: ConstructorParameters<typeof ReplayWorker>[0]['gateway']) {
    const policy = () => this.policy;
    const approvals = new Approvals({ store: this.store, clock: this.clock, logger: silentLogger, policy });
    let life = { isOver: false };
    const make = () => {
      const mine = life;
      return new ReplayWorker({
        approvals: {
          store: this.store,
          on: () => () => {},
          // A process that died writes nothing any more.
          change: (...args) => (mine.isOver ? new Promise<never>(() => {}) : approvals.change(...args)),
        },
        gateway,
        policy,
        clock: this.clock,
        logger: silentLogger,
        executor,
        toolTimeoutMs: 1000,
      });
    };
    const node = {
      approvals,
      worker: make(),
      async crash() {
        life.isOver = true;
        life = { isOver: false };
        node.worker = make();
        await node.worker.recover();
      },
    };
    return node;
  }

  async request(): Promise<ApprovalRow> {
    const args = '{"path":"a"}';
    const row = await this.nodes[0]!.approvals.request({
      sessionKey: 's',
      channel: 'realtime',
      chatId: 'c',
      callId: 'call',
      toolCallId: 't',
      tool: 'delete_file',
      args,
      argsShown: args,
      argsHash: sha256(args),
      summary: 'x',
      requester: null,
      approvers: null,
      mode: 'inline',
      minInput: 'speech',
      expiresAt: this.wall + 1000,
    });
    return row!;
  }

  async act(what: Step, id: string): Promise<void> {
    const { approvals } = this.nodes[0]!;
    const record = this.store.rows.get(id)!;
    switch (what.do) {
      case 'approve':
      case 'deny': {
        const generation = what.stale ? record.generation - 1 : record.generation;
        await approvals.decide({
          id,
          approve: what.do === 'approve',
          by: what.by,
          input: 'keypad',
          generation,
        });
        return;
      }
      case 'expire':
        await approvals.expire(record);
        return;
      case 'wait':
        this.wall += 700;
        return;
      case 'cancel':
        await approvals.cancel(record, 'hung up');
        return;
      case 'defer':
        await approvals.defer(record);
        return;
      case 'disconnect':
        await approvals.disconnect(record, this.wall + 500);
        return;
      case 'reconnect':
        await approvals.reconnect(record, 'call-2', this.wall + 1000);
        return;
      case 'sweep':
        await approvals.sweep();
        return;
      case 'resolve':
        await approvals.resolve(id, 'happened', 'operator');
        return;
      case 'execute':
        await Promise.race([this.nodes[what.node]!.worker.execute(id), turns(60)]);
        return;
      case 'crash':
        // A process may die while it repairs what its last death left.
        await Promise.race([this.nodes[what.node]!.crash(), turns(60)]);
        return;
      default:
        what satisfies never;
    }
  }
}

const NOW = Promise.resolve();

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

describe('an approval under any order of events', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  it(`runs at most once, only what was approved, and its record tells the truth: 20,000 sequences (seed ${seed})`, {
    timeout: 120_000,
  }, async () => {
    const reached = new Set<ApprovalStatus>();
    await fc.assert(
      fc.asyncProperty(
        // Steps of one group happen at the same time.
        fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 7 }),
        fc.array(fc.constantFrom('ok' as const, 'ok' as const, 'error' as const, 'hang' as const), {
          minLength: 1,
          maxLength: 3,
        }),
        async (groups, yields, outcomes) => {
          const world = new World(yields, outcomes);
          const { id, argsHash } = await world.request();
          for (const group of groups) await Promise.all(group.map((each) => world.act(each, id)));
          await turns(80);

          const row = world.store.rows.get(id)!;
          reached.add(row.status);
          const events = world.store.events.get(id)!;
          const count = (kind: string) => events.filter((each) => each.kind === kind).length;
          for (const [from, to] of world.changes) expect(MAY_BECOME[from]).toContain(to);
          expect(world.ran.length).toBeLessThanOrEqual(1);
          expect(count('decided')).toBeLessThanOrEqual(1);
          expect(count('claimed')).toBeLessThanOrEqual(1);
          for (const run of world.ran) {
            expect(run.id).toBe(id);
            expect(sha256(run.args)).toBe(argsHash);
            expect(row.decidedBy).not.toBeNull();
            expect(['executing', 'executed', 'failed', 'unknown']).toContain(row.status);
          }
          if (row.status === 'executed' || row.status === 'failed') expect(world.ran).toHaveLength(1);
          if (['pending', 'denied', 'expired', 'cancelled'].includes(row.status))
            expect(world.ran).toEqual([]);
          if (row.status === 'denied') expect(row.decidedBy).not.toBeNull();
          if (row.status === 'expired' && count('decided') === 0) expect(row.decidedBy).toBeNull();
          if (row.resolution !== null) expect(row.status).toBe('unknown');
          // Nothing waits for ever.
          world.wall += 100 * 3_600_000;
          await world.nodes[0]!.approvals.sweep();
          expect(['pending', 'approved']).not.toContain(world.store.rows.get(id)!.status);
        },
      ),
      { numRuns: 20_000, seed },
    );
    // A generator that never got somewhere would prove nothing about it.
    expect([...reached].sort()).toEqual([
      'approved',
      'cancelled',
      'denied',
      'executed',
      'executing',
      'expired',
      'failed',
      'pending',
      'unknown',
    ]);
  });
});
