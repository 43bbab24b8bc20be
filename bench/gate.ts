/**
 * What the gate costs a tool that it has nothing to say about: the look at the policy in front of every call.
 *
 *   node --expose-gc --max-semi-space-size=256 bench/gate.ts
 *
 * @module
 */

import { createApprovals } from '../src/approval/index.ts';
import { approvalsSchema } from '../src/config-approvals.ts';
import { silentLogger } from '../src/observe/index.ts';
import type { ApprovalStore } from '../src/store/index.ts';
import { HandClock, type MicroResult, measure } from './micro.ts';

export const GATE_CHECK = 'gate: a tool that is not designated';

const NAMES = ['read_file', 'list_dir', 'current_time', 'web_fetch', 'mcp_notes_search', 'grep'];

export function gateCheck(): MicroResult {
  let operations = 0;
  /** A store that counts: not designated must mean not asked. */
  const store = new Proxy({} as ApprovalStore, {
    get: () => async () => {
      operations += 1;
      return [];
    },
  });
  const system = createApprovals({
    config: approvalsSchema.parse({
      toolGate: { requireApproval: ['send_*', 'delete_*'], deny: ['drop_*'] },
    }),
    store,
    clock: new HandClock(),
    logger: silentLogger,
    dataDirectory: null,
    locale: 'en-us',
    toolTimeoutMs: 60_000,
    executor: 'bench',
    recogniser: null,
  });
  if (!system) throw new Error('There is no gate.');
  const before = operations;
  const result = measure(
    GATE_CHECK,
    100_000,
    (n) => void system.gate.concerns(NAMES[n % NAMES.length] ?? ''),
  );
  if (operations > before) throw new Error('The store was asked about tools that are not designated.');
  return result;
}

if (import.meta.main) {
  console.log(JSON.stringify(gateCheck()));
  process.exit();
}
