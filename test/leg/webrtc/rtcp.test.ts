import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RtcpPacketConverter, RtcpRrPacket, RtcpSrPacket } from 'werift';
import { Reception } from '../../../src/leg/webrtc/reception.ts';
import { ntpMiddle, parseRtcp, roundTripMs, writeReport } from '../../../src/leg/webrtc/rtcp.ts';

const WALL = 1_800_000_000_250;
const block = {
  ssrc: 77,
  fractionLost: 0.25,
  lost: 5,
  highest: 65_540,
  jitter: 96,
  lastReport: 0x1234_5678,
  sinceLastReport: 65_536,
};
const sent = { rtpTimestamp: 48_000, packets: 3, bytes: 120 };

describe('our report', () => {
  it('is read back as it was meant', () => {
    const report = parseRtcp(writeReport({ ssrc: 5, cname: 'agent', wallNow: WALL, sent, block }));
    expect(report).toEqual({ senderTime: { ssrc: 5, middle: ntpMiddle(WALL) }, blocks: [block], bye: [] });
  });

  it('is understood by an independent library', () => {
    const [first] = RtcpPacketConverter.deSerialize(
      writeReport({ ssrc: 5, cname: 'agent', wallNow: WALL, sent, block }),
    );
    expect(first).toBeInstanceOf(RtcpSrPacket);
    const { ssrc, senderInfo, reports } = first as RtcpSrPacket;
    expect([ssrc, senderInfo.rtpTimestamp, senderInfo.packetCount, senderInfo.octetCount]).toEqual([
      5, 48_000, 3, 120,
    ]);
    expect(reports[0]).toMatchObject({
      ssrc: 77,
      fractionLost: 64,
      highestSequence: 65_540,
      jitter: 96,
      lsr: 0x1234_5678,
      dlsr: 65_536,
    });
    const [received] = RtcpPacketConverter.deSerialize(
      writeReport({ ssrc: 5, cname: 'a', wallNow: WALL, sent: null, block }),
    );
    expect(received).toBeInstanceOf(RtcpRrPacket);
  });

  it('fills whole words, whatever the name', () => {
    for (let length = 1; length < 20; length += 1) {
      const bytes = writeReport({
        ssrc: 5,
        cname: 'n'.repeat(length),
        wallNow: WALL,
        sent: null,
        block: null,
      });
      expect(bytes.byteLength % 4).toBe(0);
      expect(parseRtcp(bytes)).not.toBeNull();
    }
  });
});

describe('a report of the peer', () => {
  it('made of any bytes never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parseRtcp(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives the round trip from the time of ours that it names', () => {
    const heard = { ...block, lastReport: ntpMiddle(WALL), sinceLastReport: 65_536 / 2 };
    expect(roundTripMs(heard, WALL + 580)).toBeCloseTo(80, 0);
    expect(roundTripMs({ ...heard, lastReport: 0 }, WALL)).toBeNull();
    expect(roundTripMs(heard, WALL - 5000)).toBeNull();
  });
});

describe('reception', () => {
  it('counts what is lost in all and since the last report', () => {
    const reception = new Reception(9, 100);
    for (let n = 0; n < 100; n += 1) if (n % 10 !== 5) reception.received(100 + n, n * 960, n * 20);
    expect(reception.report(2000)).toMatchObject({ fractionLost: 0.1, lost: 10, highest: 199 });
    for (let n = 100; n < 200; n += 1) reception.received(100 + n, n * 960, n * 20);
    expect(reception.report(4000)).toMatchObject({ fractionLost: 0, lost: 10, highest: 299 });
  });

  it('has no jitter when packets are even, and about the deviation when they are not', () => {
    const even = new Reception(9, 0);
    const uneven = new Reception(9, 0);
    for (let n = 0; n < 500; n += 1) {
      even.received(n, n * 960, n * 20);
      uneven.received(n, n * 960, n * 20 + (n % 2) * 10);
    }
    expect(even.jitterMs).toBe(0);
    expect(uneven.jitterMs).toBeGreaterThan(8);
    expect(uneven.jitterMs).toBeLessThan(12);
  });

  it('says when the last report of the peer came', () => {
    const reception = new Reception(9, 0);
    reception.received(0, 0, 0);
    reception.reported(0xabcd, 1000);
    expect(reception.report(1500)).toMatchObject({ lastReport: 0xabcd, sinceLastReport: 32_768 });
  });
});
