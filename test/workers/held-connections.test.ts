import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/index.ts';
import {
  HeldConnections,
  HOLD_TIMEOUT_MS,
  MAX_HELD_CONNECTIONS,
} from '../../src/workers/held-connections.ts';

interface Waiting {
  readonly socket: Socket;
  readonly since: number;
}

function open() {
  const clock = new FakeClock();
  const rig = { clock, hasPlace: false, placed: [] as Waiting[], refused: [] as Waiting[] };
  const held: HeldConnections<Waiting> = new HeldConnections(
    clock,
    (connection) => {
      if (rig.hasPlace) rig.placed.push(connection);
      else held.add(connection);
    },
    (connection) => rig.refused.push(connection),
  );
  const wait = () => held.add({ socket: new Socket(), since: clock.now() });
  return { rig, held, wait, clock };
}

describe('connections that wait for a worker', () => {
  it('are placed as soon as there is one, in their order', () => {
    const { rig, held, wait } = open();
    wait();
    wait();
    held.release();
    expect(held.size).toBe(2);
    rig.hasPlace = true;
    held.release();
    expect([held.size, rig.placed.length, rig.refused.length]).toEqual([0, 2, 0]);
  });

  it('find it by themselves, too, and are refused when they waited too long', async () => {
    const { rig, held, wait, clock } = open();
    wait();
    await clock.advance(HOLD_TIMEOUT_MS - 1000);
    wait();
    await clock.advance(1000);
    expect([held.size, rig.refused.length]).toEqual([1, 1]);
    rig.hasPlace = true;
    await clock.advance(1000);
    expect([held.size, rig.placed.length]).toEqual([0, 1]);
  });

  it('are no more than their bound, and those that left are forgotten', () => {
    const { rig, held, wait } = open();
    for (let index = 0; index < MAX_HELD_CONNECTIONS; index += 1) wait();
    wait();
    expect([held.size, rig.refused.length]).toEqual([MAX_HELD_CONNECTIONS, 1]);
    const gone = new Socket();
    gone.destroy();
    rig.hasPlace = true;
    held.release();
    held.add({ socket: gone, since: 0 });
    held.release();
    expect(rig.placed).toHaveLength(MAX_HELD_CONNECTIONS);
    held.close();
  });
});
