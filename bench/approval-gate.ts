/**
 * What the gate costs a tool that it has nothing to say about: the look at the policy in front of every call.
 *
 *   node bench/approval-gate.ts
 */

import { createApprovals } from '../src/approval/index.ts';
import { realClock } from '../src/clock.ts';
import { approvalsSchema } from '../src/config-approvals.ts';
import { silentLogger } from '../src/observe/index.ts';
import type { ApprovalStore } from '../src/store/index.ts';

const ROUNDS = 2_000_000;

let operations = 0;
/** A store that counts: not designated must mean not asked. */
const store = new Proxy({} as ApprovalStore, {
  get: () => async () => {
    operations++;
    return [];
  },
});

const system = createApprovals({
  config: approvalsSchema.parse({
    toolGate: {
      requireApproval: ['send_email', 'delete_*', 'mcp_mail_*'],
      deny: ['drop_*'],
      allowInline: ['delete_file'],
    },
  }),
  store,
  clock: realClock,
  logger: silentLogger,
  dataDirectory: null,
  locale: 'en-us',
  toolTimeoutMs: 60_000,
  executor: 'bench',
  recogniser: null,
});
if (!system) throw new Error('There is no gate to measure.');

const names = ['read_file', 'list_dir', 'current_time', 'web_fetch', 'mcp_notes_search', 'grep'];

function measure(label: string, look: (name: string) => boolean): void {
  for (let i = 0; i < 100_000; i++) look(names[i % names.length] ?? '');
  const startedAt = performance.now();
  let concerned = 0;
  for (let i = 0; i < ROUNDS; i++) if (look(names[i % names.length] ?? '')) concerned++;
  const ns = ((performance.now() - startedAt) * 1e6) / ROUNDS;
  process.stdout.write(
    `${label.padEnd(36)} ${ns.toFixed(0).padStart(6)} ns per call, concerned ${concerned}\n`,
  );
}

measure('no gate', () => false);
measure('gate on, tool not designated', (name) => system.gate.concerns(name));
process.stdout.write(`store operations: ${operations}\n`);
await system.close();
if (operations > 0) process.exitCode = 1;
