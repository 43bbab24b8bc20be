/**
 * The gate's look at a tool that it has nothing to say about.
 *
 * @module
 */

import { createApprovals } from '../src/approval/index.ts';
import { approvalsSchema } from '../src/config-approvals.ts';
import { silentLogger } from '../src/observe/index.ts';
import type { ApprovalStore } from '../src/store/index.ts';
import { HandClock, type MicroResult, measure } from './micro.ts';

export const GATE_CHECK = 'gate: a tool that is not designated';

export function gateCheck(): MicroResult {
  const store = new Proxy({} as ApprovalStore, { get: () => async () => [] });
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
  return measure(GATE_CHECK, 100_000, () => void system.gate.concerns('read_file'));
}

if (import.meta.main) {
  console.log(JSON.stringify(gateCheck()));
  process.exit();
}
