import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { openTestPeers, type TestPeers } from '../../bugs/webrtc-line.ts';
import { NativePeer } from './native-peer.ts';

let line: TestPeers | null = null;
afterEach(() => line?.close());

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(resolve));
  return port;
}

const portsOf = (sdp: string) =>
  [...sdp.matchAll(/a=candidate:\S+ 1 UDP \d+ \S+ (\d+)/g)].map(([, port]) => Number(port));

describe('where we are reached', { timeout: 20_000 }, () => {
  it('is one port for all calls, where the range has one', async () => {
    const port = await freeUdpPort();
    line = await openTestPeers({ portRange: { min: port, max: port } });
    for (let n = 0; n < 2; n += 1) {
      const caller = line.keep(new NativePeer(`caller-${n}`));
      const { sdp, connected } = await line.peers.answer(await caller.offer());
      expect(new Set(portsOf(sdp))).toEqual(new Set([port]));
      caller.accept(sdp);
      expect(await connected).toBe(true);
    }
    expect(line.peers.size).toBe(2);
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ family }) => family === 'IPv6'),
  );
  if (!hasIpv6) console.warn('There is no IPv6 on this machine: no call is made over it.');
  it.skipIf(!hasIpv6)('may be an IPv6 address: a call comes up over it', async () => {
    line = await openTestPeers({ bindAddress: '::1' });
    const caller = line.keep(new NativePeer('caller', '::1'));
    const { sdp, connected } = await line.peers.answer(await caller.offer());
    expect(sdp).toMatch(/a=candidate:\S+ 1 UDP \d+ ::1 \d+ typ host/);
    caller.accept(sdp);
    expect(await connected).toBe(true);
  });

  it('is told as the public address, and nothing else of ours', async () => {
    line = await openTestPeers({ publicAddress: '203.0.113.5' });
    const caller = line.keep(new NativePeer());
    const { sdp } = await line.peers.answer(await caller.offer());
    const candidates = sdp.match(/a=candidate:.*/g) ?? [];
    expect(candidates.length).toBeGreaterThan(0);
    for (const each of candidates) expect(each).toMatch(/ 203\.0\.113\.5 \d+ typ host$/);
    expect(sdp.replaceAll(/[oc]=.*/g, '')).not.toContain('127.0.0.1');
  });

  it('is full at its bound, and says so', async () => {
    line = await openTestPeers({}, { maxPeers: 1 });
    const [first, second] = [line.keep(new NativePeer('one')), line.keep(new NativePeer('two'))];
    const { leg } = await line.peers.answer(await first.offer());
    await expect(line.peers.answer(await second.offer())).rejects.toMatchObject({
      code: 'WEBRTC_UNAVAILABLE',
    });
    await leg.hangup();
    expect(line.peers.size).toBe(0);
  });

  it('is nowhere after the end', async () => {
    line = await openTestPeers();
    const caller = line.keep(new NativePeer());
    const offer = await caller.offer();
    const { id, leg } = await line.peers.answer(await line.keep(new NativePeer('other')).offer());
    const closed: string[] = [];
    leg.on('closed', (reason) => closed.push(reason));
    expect(line.peers.hangup('0'.repeat(32))).toBe(false);
    await line.peers.close();
    expect(closed).toEqual(['local_hangup']);
    expect(line.peers.hangup(id)).toBe(false);
    expect(line.peers.size).toBe(0);
    await expect(line.peers.answer(offer)).rejects.toMatchObject({ code: 'WEBRTC_UNAVAILABLE' });
  });
});
