/**
 * What a frame costs in things that can be counted, and that no other program on the machine can change: bytes it
 * allocates, messages it becomes, timers it arms. Compared with bounds that are written here; above one of them it fails.
 *
 *   npm run bench:invariants
 *
 * @module
 */

import { FrameTicker } from '../src/audio/index.ts';
import { FakeGateway } from '../src/testing/index.ts';
import { gateCheck } from './gate.ts';
import { openLines } from './lib/lines.ts';
import { HandClock, wayUpAndDown } from './micro.ts';
import { webFrames } from './web-frames.ts';

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

const web = await webFrames();
const { up, down, messagesUp, messagesDown, timersPerFrame } = await wayUpAndDown();
const invariants: Invariant[] = [
  // Text in and out is most of it: two strings of about 400 bytes.
  { name: 'bytes kept for the collector by a frame up', found: up.bytesPerFrame, atMost: 200 },
  { name: 'bytes kept for the collector by a frame down', found: down.bytesPerFrame, atMost: 600 },
  { name: 'messages to the model for a frame up', found: messagesUp, atMost: 1 },
  // One mark every 200 ms.
  { name: 'messages to the carrier for a frame down', found: messagesDown, atMost: 1.11 },
  { name: 'timers armed for a frame', found: timersPerFrame, atMost: 0 },
  { name: 'timers that a call keeps armed', found: await timersOfACall(), atMost: 4 },
  { name: 'timers of the ticker for a thousand calls', found: timersOfTheTicker(), atMost: 1 },
  {
    name: 'bytes for a look at the gate (none of them survives)',
    found: gateCheck().bytesPerFrame,
    // Through the gate as it is put together, the config's keeper and all.
    atMost: 100,
  },
  // 960 of them are 20 ms of PCM at 24 kHz, which is new for whoever gets it.
  { name: 'web: bytes for the collector of a packet in', found: web.bytesIn, atMost: 1300 },
  { name: 'web: bytes for the collector of a frame out', found: web.bytesOut, atMost: 1700 },
  { name: 'web: frames to the engine for a packet', found: web.framesPerPacket, atMost: 1 },
  { name: 'web: packets for a frame of speech', found: web.packetsPerFrame, atMost: 1 },
  { name: 'web: timers armed in 20 ms of all legs', found: web.timersPerTick, atMost: 1 },
  { name: 'web: timers that a leg keeps armed', found: web.timersPerLeg, atMost: 0 },
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
