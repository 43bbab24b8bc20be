/**
 * What a frame costs in things that can be counted, and that no other program on the machine can change: bytes it
 * allocates, messages it becomes, timers it arms. Compared with bounds that are written here; above one of them it fails.
 *
 *   npm run bench:invariants
 *
 * @module
 */

import { createApprovals } from '../src/approval/index.ts';
import { FrameTicker } from '../src/audio/index.ts';
import { approvalsSchema } from '../src/config-approvals.ts';
import { silentLogger } from '../src/observe/index.ts';
import type { ApprovalStore } from '../src/store/index.ts';
import { FakeGateway } from '../src/testing/index.ts';
import { openLines } from './lib/lines.ts';
import { HandClock, measure, wayUpAndDown } from './micro.ts';

interface Invariant {
  readonly name: string;
  readonly found: number;
  readonly atMost: number;
}

/** Timers that one more call keeps armed: its leg's, its model connection's, its session's end. */
async function timersOfACall(): Promise<number> {
  const clock = new HandClock();
  const { dial, close } = await openLines(clock, new FakeGateway({ tools: {} }));
  await dial(1);
  const before = clock.live;
  await dial(20);
  await new Promise((resolve) => setImmediate(resolve));
  const each = (clock.live - before) / 20;
  await close();
  return each;
}

/** One ticker for all calls: a thousand subscribers are one timer. */
function timersOfTheTicker(): number {
  const clock = new HandClock();
  const ticker = new FrameTicker(clock);
  for (let i = 0; i < 1000; i += 1) ticker.add(() => {});
  return clock.live;
}

function gateBytes(): number {
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
  return measure('gate', 100_000, () => void system.gate.concerns('read_file')).bytesPerFrame;
}

const { up, down, messagesUp, messagesDown, timersPerFrame } = await wayUpAndDown();
const invariants: Invariant[] = [
  // Text in and out is most of it: two strings of about 400 bytes.
  { name: 'bytes kept for the collector by a frame up', found: up.bytesPerFrame, atMost: 700 },
  { name: 'bytes kept for the collector by a frame down', found: down.bytesPerFrame, atMost: 900 },
  { name: 'messages to the model for a frame up', found: messagesUp, atMost: 1 },
  // One mark every 200 ms.
  { name: 'messages to the carrier for a frame down', found: messagesDown, atMost: 1.11 },
  { name: 'timers armed for a frame', found: timersPerFrame, atMost: 0 },
  { name: 'timers that a call keeps armed', found: await timersOfACall(), atMost: 4 },
  { name: 'timers of the ticker for a thousand calls', found: timersOfTheTicker(), atMost: 1 },
  { name: 'bytes for a look at the gate (none of them survives)', found: gateBytes(), atMost: 64 },
];

let failed = 0;
for (const { name, found, atMost } of invariants) {
  const holds = found <= atMost;
  if (!holds) failed += 1;
  console.log(
    `${holds ? 'ok  ' : 'FAIL'} ${name.padEnd(56)} ${String(Math.round(found * 1000) / 1000).padStart(8)}  (at most ${atMost})`,
  );
}
process.exit(failed === 0 ? 0 : 1);
