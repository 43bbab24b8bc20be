/**
 * A process that asks, decides and runs approvals until it is killed, by itself at one point or from outside at any.
 * Arguments: database, log of effects, point (or `-`), count.
 */
import { appendFileSync } from 'node:fs';
import { type ApprovalSystem, createApprovals } from '../../src/approval/index.ts';
import { realClock } from '../../src/clock.ts';
import { approvalsSchema } from '../../src/config-approvals.ts';
import type { ExecuteToolOptions, ToolResult } from '../../src/gateway/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { type FullStore, openStore } from '../../src/store/index.ts';

const [, , file = '', log = '', point = '-', count = '1'] = process.argv;

const die = (at: string) => {
  if (at === point) process.kill(process.pid, 'SIGKILL');
};

/** The store, which ends the process right after a change of the wanted kind is on disk. */
function deadly(store: FullStore): FullStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        const result: unknown = await value.apply(target, args);
        if (name === 'insertApproval') die('persisted');
        if (name === 'changeApproval' && result !== null) die((args[3] as { kind: string }).kind);
        return result;
      };
    },
  });
}

const store = deadly(await openStore({ engine: 'sqlite', file }));
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

async function executeTool(
  sessionKey: string,
  name: string,
  args: unknown,
  options: ExecuteToolOptions,
): Promise<ToolResult> {
  const verdict = await system.gate.check({ sessionKey, name, args, channel: options.channel, chatId: 'c' });
  if (!verdict.run) return verdict.result;
  die('claimed');
  // The effect: a line that is on disk when the call returns.
  appendFileSync(log, `${(args as { n: number }).n}\n`, { flush: true });
  die('executing');
  return { content: 'done', isError: false };
}

await system.start({ gateway: { executeTool }, message: () => true });
process.stdout.write('ready\n');
for (let n = 0; n < Number(count); n++) {
  const result = await executeTool(`s:${n}`, 'effect', { n }, { channel: 's' });
  const { request } = JSON.parse(String(result.content)) as { request: string };
  process.stdout.write(`asked ${n}\n`);
  const record = await store.getApproval(request);
  if (!record) throw new Error('lost');
  await system.approvals.prompted(record, record.expiresAt);
  // Every fourth is left for a person, every fifth is denied.
  if (n % 4 === 3) continue;
  const decided = await system.approvals.decide({
    id: request,
    approve: n % 5 !== 4,
    by: 'operator',
    input: 'page',
  });
  if (decided.ok) process.stdout.write(`decided ${n}\n`);
}
setInterval(() => {}, 1000);
