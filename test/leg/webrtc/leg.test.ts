import { describe, expect, it } from 'vitest';
import { OpusEncoder } from '../../../src/audio/index.ts';
import { VirtualClock } from '../../../src/clock-virtual.ts';
import type { LegCloseReason } from '../../../src/leg/index.ts';
import { PageLink } from '../../../src/leg/page/index.ts';
import {
  CONNECT_TIMEOUT_MS,
  DISCONNECT_GRACE_MS,
  LINGER_MS,
  NO_MEDIA_TIMEOUT_MS,
  REPORT_EVERY_MS,
  WebRtcLeg,
} from '../../../src/leg/webrtc/leg.ts';
import type { ConnectionSink, MediaConnection } from '../../../src/leg/webrtc/native.ts';
import { decoderCount } from '../../../src/leg/webrtc/receiver.ts';
import { parseRtcp, writeReport } from '../../../src/leg/webrtc/rtcp.ts';
import { isRtcp, parseRtp, writeRtp } from '../../../src/leg/webrtc/rtp.ts';
import { encoderCount, TAIL_FRAMES } from '../../../src/leg/webrtc/sender.ts';

const FRAME = new Uint8Array(960).fill(9);
const encoder = new OpusEncoder({ sampleRate: 24_000 });
const PAYLOAD = encoder.encode(new Int16Array(480).fill(500));

class FakeConnection implements MediaConnection {
  sink: ConnectionSink | null = null;
  readonly sent: Buffer[] = [];
  closed = 0;
  listen(sink: ConnectionSink | null): void {
    this.sink = sink;
  }
  send(packet: Buffer): void {
    this.sent.push(packet);
  }
  close(): void {
    this.closed += 1;
  }
  get rtp() {
    return this.sent.filter((packet) => !isRtcp(packet)).map((packet) => parseRtp(packet)!);
  }
  get reports() {
    return this.sent.filter(isRtcp).map((packet) => parseRtcp(packet)!);
  }
}

function rig(overrides: Partial<ConstructorParameters<typeof WebRtcLeg>[0]> = {}) {
  const clock = new VirtualClock();
  const connection = new FakeConnection();
  const link = new PageLink('owner', () => clock.now());
  const events = {
    closed: [] as LegCloseReason[],
    settled: [] as boolean[],
    freed: 0,
    played: [] as string[],
    frames: 0,
    said: [] as string[],
  };
  const leg = new WebRtcLeg({
    connection,
    clock,
    link,
    payloadType: 111,
    receives: true,
    ssrc: 9,
    cname: 'agent',
    firstSequence: 0,
    firstTimestamp: 0,
    bitrate: 24_000,
    complexity: 0,
    noMediaTimeoutMs: NO_MEDIA_TIMEOUT_MS,
    settled: (isUp) => events.settled.push(isUp),
    freed: () => {
      events.freed += 1;
    },
    ...overrides,
  });
  leg.on('closed', (reason) => events.closed.push(reason));
  leg.on('played', (mark) => events.played.push(mark));
  leg.on('audio', () => {
    events.frames += 1;
  });
  leg.on('text', (text) => events.said.push(text));
  leg.on('dtmf', (digit) => events.said.push(digit));
  let n = 0;
  const speak = () => {
    n += 1;
    connection.sink?.packet(
      writeRtp({
        payloadType: 111,
        marker: false,
        sequence: n & 0xffff,
        timestamp: n * 960,
        ssrc: 1,
        payload: PAYLOAD,
      }),
    );
  };
  /** Time passes, with the caller's packets in it unless they are held back. */
  const pass = async (ms: number, isSpeaking = true) => {
    for (let left = ms; left > 0; left -= 20) {
      if (isSpeaking) speak();
      await clock.advance(20);
    }
  };
  return { clock, connection, link, leg, events, pass };
}

describe('a WebRTC leg', () => {
  it('gives up a connection that does not come up', async () => {
    const { clock, events, connection } = rig();
    await clock.advance(CONNECT_TIMEOUT_MS + 20);
    expect(events).toMatchObject({ closed: ['connection_lost'], settled: [false], freed: 1 });
    expect(connection.closed).toBe(1);
  });

  it('says once that it is up, and hears the caller from then on', async () => {
    const { connection, events, pass } = rig();
    connection.sink?.connected();
    connection.sink?.connected();
    await pass(200);
    expect(events.settled).toEqual([true]);
    expect(events.frames).toBe(10);
  });

  it('forgives a disconnection that passes', async () => {
    const { connection, events, pass } = rig();
    connection.sink?.connected();
    connection.sink?.disconnected();
    await pass(DISCONNECT_GRACE_MS - 100, false);
    connection.sink?.connected();
    await pass(DISCONNECT_GRACE_MS);
    expect(events.closed).toEqual([]);
  });

  it('ends when the disconnection lasts', async () => {
    const { connection, events, pass } = rig();
    connection.sink?.connected();
    connection.sink?.disconnected();
    await pass(DISCONNECT_GRACE_MS + 40, false);
    expect(events.closed).toEqual(['connection_lost']);
  });

  it('ends when no packet comes, whatever the connection says', async () => {
    const { connection, events, pass } = rig();
    connection.sink?.connected();
    await pass(1000);
    await pass(NO_MEDIA_TIMEOUT_MS + 40, false);
    expect(events.closed).toEqual(['no_media']);
  });

  it('ends at once when the peer closes the connection', () => {
    const { connection, events } = rig();
    connection.sink?.connected();
    connection.sink?.gone();
    expect(events).toMatchObject({ closed: ['connection_lost'], freed: 1 });
  });

  it('plays nothing before the connection is up, and everything after', async () => {
    const { clock, connection, leg, pass } = rig();
    for (let n = 0; n < 10; n += 1) leg.send('item', FRAME);
    await clock.advance(100);
    expect(connection.rtp).toEqual([]);
    connection.sink?.connected();
    await pass(400);
    const loud = connection.rtp.filter(({ payload }) => payload.length > 2);
    expect(loud).toHaveLength(10 + TAIL_FRAMES);
  });

  it('is not ended by too much audio before that, and is after it', async () => {
    const { connection, leg, events } = rig();
    for (let n = 0; n < 500; n += 1) leg.send('item', FRAME);
    expect(events.closed).toEqual([]);
    connection.sink?.connected();
    leg.send('item', FRAME);
    expect(events.closed).toEqual(['backpressure']);
  });

  it('refuses half a frame', () => {
    expect(() => rig().leg.send('item', new Uint8Array(959))).toThrow(
      expect.objectContaining({ code: 'LEG_PROTOCOL' }),
    );
  });

  it('drops on clear what has not gone out, with its marks', async () => {
    const { connection, leg, events, pass } = rig();
    connection.sink?.connected();
    await pass(40);
    for (let n = 0; n < 50; n += 1) leg.send('item', FRAME);
    leg.mark('m1');
    await pass(100);
    const before = connection.rtp.length;
    leg.clear();
    await pass(1000);
    // The encoder fades out, and then there are signs of silence.
    expect(connection.rtp.slice(before).filter(({ payload }) => payload.length > 40)).toEqual([]);
    expect(events.played).toEqual([]);
  });

  it('gives marks back in order, after their audio and the way to the ear', async () => {
    const { connection, leg, events, pass } = rig();
    connection.sink?.connected();
    await pass(40);
    for (let n = 0; n < 10; n += 1) leg.send('item', FRAME);
    leg.mark('m1');
    leg.send('item', FRAME);
    leg.mark('m2');
    await pass(200);
    expect(events.played).toEqual([]);
    await pass(120);
    expect(events.played).toEqual(['m1', 'm2']);
  });

  it('reports to the peer, tells the page how the line is, and learns of loss', async () => {
    const { clock, connection, link, pass } = rig();
    const told: string[] = [];
    link.opened({ bufferedAmount: 0, isOpen: true, send: (text) => told.push(text) });
    link.receive(JSON.stringify({ type: 'hello', v: 1 }));
    connection.sink?.connected();
    await pass(REPORT_EVERY_MS + 40);
    expect(connection.reports).toHaveLength(1);
    expect(connection.reports[0]!.blocks[0]).toMatchObject({ ssrc: 1, lost: 0 });
    const block = {
      ssrc: 9,
      fractionLost: 0.1,
      lost: 5,
      highest: 100,
      jitter: 0,
      lastReport: 0,
      sinceLastReport: 0,
    };
    connection.sink?.packet(
      writeReport({
        ssrc: 1,
        cname: 'x',
        wallNow: clock.wallNow(),
        sent: { rtpTimestamp: 1, packets: 1, bytes: 1 },
        block,
      }),
    );
    await pass(REPORT_EVERY_MS);
    expect(connection.reports[1]!.blocks[0]!.lastReport).toBeGreaterThan(0);
    expect(told.map((each) => JSON.parse(each) as object)).toContainEqual({
      type: 'quality',
      lossPercent: 0,
      concealedPercent: 0,
      jitterBufferMs: 20,
      roundTripMs: null,
    });
  });

  it('has text, keys and the hang-up from the page', () => {
    const { connection, events } = rig();
    for (const command of [
      { type: 'hello', v: 1 },
      { type: 'text', text: 'hi' },
      { type: 'dtmf', digit: '#' },
      { type: 'hangup' },
    ])
      connection.sink?.message(JSON.stringify(command));
    expect(events.said).toEqual(['hi', '#']);
    expect(events.closed).toEqual(['caller_hangup']);
  });

  it('hung up by us lets the last messages out, "ended" behind them, and closes the connection then', async () => {
    const { clock, connection, link, leg, events } = rig();
    const told: string[] = [];
    link.opened({ bufferedAmount: 0, isOpen: true, send: (text) => told.push(text) });
    link.receive(JSON.stringify({ type: 'hello', v: 1 }));
    connection.sink?.connected();
    await leg.hangup();
    expect(events.closed).toEqual(['local_hangup']);
    expect(JSON.parse(told.at(-1)!)).toEqual({ type: 'ended', reason: 'local_hangup' });
    expect(connection.closed).toBe(0);
    await clock.advance(LINGER_MS);
    expect(connection.closed).toBe(1);
    expect(events.freed).toBe(1);
  });

  it('leaves no timer, codec or listener behind, however it ended', async () => {
    const before = [decoderCount(), encoderCount()];
    for (const end of ['hangup', 'gone', 'ended'] as const) {
      const { clock, connection, leg, link, pass } = rig();
      connection.sink?.connected();
      await pass(100);
      if (end === 'hangup') await leg.hangup();
      if (end === 'gone') connection.sink?.gone();
      if (end === 'ended') leg.callerEnded();
      leg.send('item', FRAME);
      leg.mark('m1');
      await clock.advance(1000);
      expect(clock.pendingTimers).toBe(0);
      expect(leg.listenerCount() + link.listenerCount()).toBe(0);
      expect(connection.closed).toBe(1);
    }
    expect([decoderCount(), encoderCount()]).toEqual(before);
  });

  it('sends nothing to a peer that only sends', async () => {
    const { connection, leg, pass } = rig({ receives: false });
    connection.sink?.connected();
    leg.send('item', FRAME);
    leg.mark('m1');
    await pass(200);
    expect(connection.rtp).toEqual([]);
  });
});
