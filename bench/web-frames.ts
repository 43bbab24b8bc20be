/**
 * A frame of a call from a web page, counted: packets in and out of a leg whose connection is functions, Opus both ways, and
 * the engine's way between them left out (it is the same as on the phone).
 *
 * @module
 */

import { loadAudio, OpusEncoder } from '../src/audio/index.ts';
import type { Clock } from '../src/clock.ts';
import { WebRtcLeg } from '../src/leg/webrtc/leg.ts';
import { isRtcp, writeRtp } from '../src/leg/webrtc/rtp.ts';
import { measure } from './micro.ts';

type LegOptions = ConstructorParameters<typeof WebRtcLeg>[0];
type Connection = LegOptions['connection'];
type Sink = Parameters<Connection['listen']>[0];

export interface WebFrames {
  /** Bytes for the collector of one packet in, and of one frame out. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Frames that the model gets for each packet, and packets that leave for each frame of speech. */
  readonly framesPerPacket: number;
  readonly packetsPerFrame: number;
  /** Timers armed in one tick of 20 ms of all legs together, while all of them hear and speak. */
  readonly timersPerTick: number;
  /** Timers that one more leg keeps armed. */
  readonly timersPerLeg: number;
}

/** Its timers are fired by hand. There is one: the ticker of all legs. */
class TickClock implements Clock {
  readonly kind = 'real';
  at = 0;
  armed = 0;
  live = 0;
  #callback: (() => void) | null = null;
  now = (): number => this.at;
  wallNow = (): number => 1_700_000_000_000 + this.at;
  setTimeout(callback: () => void): { clear(): void } {
    this.#callback = callback;
    this.armed += 1;
    this.live += 1;
    return { clear: () => {} };
  }
  track<T>(work: Promise<T>): Promise<T> {
    return work;
  }
  tick(): void {
    this.at += 20;
    const callback = this.#callback;
    this.#callback = null;
    this.live -= 1;
    callback?.();
  }
}

class FunctionConnection implements Connection {
  sink: Sink = null;
  packets = 0;
  listen(sink: Sink): void {
    this.sink = sink;
  }
  send(packet: Buffer): void {
    if (!isRtcp(packet)) this.packets += 1;
  }
  close(): void {}
}

const COUNT = 3000;
/** Of `measure`, beside the one that warms up. */
const ROUNDS = 7;
const LEGS = 20;

function openLeg(clock: TickClock): { leg: WebRtcLeg; connection: FunctionConnection } {
  const connection = new FunctionConnection();
  const leg = new WebRtcLeg({
    connection,
    clock,
    link: null,
    payloadType: 111,
    receives: true,
    ssrc: 9,
    cname: 'bench',
    firstSequence: 0,
    firstTimestamp: 0,
    bitrate: 24_000,
    complexity: 5,
    noMediaTimeoutMs: 3_600_000,
    settled: () => {},
    freed: () => {},
  });
  connection.sink?.connected();
  return { leg, connection };
}

export async function webFrames(): Promise<WebFrames> {
  await loadAudio();
  const clock = new TickClock();
  const { leg, connection } = openLeg(clock);
  let frames = 0;
  leg.on('audio', () => {
    frames += 1;
  });
  const voice = Int16Array.from({ length: 480 }, (_, i) => 8000 * Math.sin(i / 9) + (i % 37) * 40);
  const payload = new OpusEncoder({ sampleRate: 24_000 }).encode(voice);
  const packet = (n: number) =>
    writeRtp({
      payloadType: 111,
      marker: false,
      sequence: n & 0xffff,
      timestamp: n * 960,
      ssrc: 1,
      payload,
    });
  // Made beforehand: what a packet costs whoever sends it is not ours.
  const packets = Array.from({ length: 65_536 }, (_, n) => packet(n));
  const into = measure('packet in', COUNT, (n) => {
    clock.at += 20;
    connection.sink?.packet(packets[n & 0xffff] ?? packet(n));
  });
  const framesPerPacket = frames / (COUNT * (ROUNDS + 1));
  const pcm = new Uint8Array(voice.buffer);
  connection.packets = 0;
  const out = measure('frame out', COUNT, () => {
    leg.send('item', pcm);
    clock.tick();
  });
  const packetsPerFrame = connection.packets / (COUNT * (ROUNDS + 1));
  const before = clock.live;
  const more = Array.from({ length: LEGS }, () => openLeg(clock));
  const timersPerLeg = (clock.live - before) / LEGS;
  clock.armed = 0;
  for (let n = 0; n < 100; n += 1) {
    for (const each of more) {
      each.connection.sink?.packet(packets[n] ?? packet(n));
      each.leg.send('item', pcm);
    }
    clock.tick();
  }
  const timersPerTick = clock.armed / 100;
  for (const each of [{ leg }, ...more]) await each.leg.hangup();
  return {
    bytesIn: into.bytesPerFrame,
    bytesOut: out.bytesPerFrame,
    framesPerPacket,
    packetsPerFrame,
    timersPerTick,
    timersPerLeg,
  };
}
