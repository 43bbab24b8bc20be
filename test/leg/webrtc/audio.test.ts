import { describe, expect, it } from 'vitest';
import {
  concatSamples,
  OpusDecoder,
  OpusEncoder,
  opusCarriesFec,
  opusPacketTicks,
  pcm16ToSamples,
  samplesToPcm16,
} from '../../../src/audio/index.ts';
import { AudioReceiver, decoderCount, SOURCE_SWITCH_MS } from '../../../src/leg/webrtc/receiver.ts';
import { parseRtp, writeRtp } from '../../../src/leg/webrtc/rtp.ts';
import { AudioSender, encoderCount, SILENCE_EVERY_MS, TAIL_FRAMES } from '../../../src/leg/webrtc/sender.ts';
import { rms, sine, toneLevelDb } from '../../audio/signals.ts';
import { speech } from './speech.ts';

const FRAME = 480;
const cut = (samples: Int16Array) =>
  Array.from({ length: Math.floor(samples.length / FRAME) }, (_, n) =>
    samples.slice(n * FRAME, (n + 1) * FRAME),
  );

/** A caller's packets, one for each 20 ms. */
function packetsOf(
  samples: Int16Array,
  { ssrc = 1, fec = false, sequence = 100, timestamp = 5000, payloadType = 111 } = {},
) {
  const encoder = new OpusEncoder({
    sampleRate: 24_000,
    bitrate: 32_000,
    fec,
    expectedLossPercent: fec ? 20 : 0,
  });
  const packets = cut(samples).map((frame, n) =>
    writeRtp({
      payloadType,
      marker: n === 0,
      sequence: (sequence + n) & 0xffff,
      timestamp: timestamp + n * 960,
      ssrc,
      payload: encoder.encode(frame),
    }),
  );
  encoder.free();
  return packets;
}

function receiver() {
  const parts: Int16Array[] = [];
  const receiver = new AudioReceiver({
    payloadType: 111,
    sampleRate: 24_000,
    onAudio: (pcm) => parts.push(pcm16ToSamples(pcm)),
  });
  return { receiver, heard: () => concatSamples(parts) };
}

// Four seconds of a person's sentence.
const voice = await speech(4);

describe('what comes of a caller’s packets', () => {
  it('is the same, sample for sample, as one decoder makes of them', () => {
    const packets = packetsOf(sine(440, 24_000, 1));
    const { receiver: ours, heard } = receiver();
    for (const [n, packet] of packets.entries()) ours.receive(packet, n * 20);
    const decoder = new OpusDecoder(24_000);
    expect(heard()).toEqual(
      concatSamples(packets.map((packet) => decoder.decode(parseRtp(packet)!.payload))),
    );
    decoder.free();
    ours.close();
  });

  it.each([true, false])('has no hole where packets are lost (FEC: %s), and every sample', (fec) => {
    const packets = packetsOf(voice, { fec });
    const { receiver: ours, heard } = receiver();
    packets.forEach((packet, n) => {
      if (n % 20 !== 10) ours.receive(packet, n * 20);
      ours.tick(n * 20 + 19);
    });
    const samples = heard();
    expect(samples.length).toBe(packets.length * FRAME);
    for (let n = 10; n < packets.length; n += 20) {
      const said = rms(voice.subarray(n * FRAME, (n + 1) * FRAME));
      if (said > 1000) expect(rms(samples.subarray(n * FRAME, (n + 1) * FRAME))).toBeGreaterThan(said / 20);
    }
    const { recoveredMs, concealedMs, missing } = ours.counters();
    expect(missing).toBe(10);
    expect(recoveredMs + concealedMs).toBe(200);
    // Copies are made of speech only; a pause between words has none.
    if (fec) expect(recoveredMs).toBeGreaterThanOrEqual(120);
    else expect(recoveredMs).toBe(0);
    ours.close();
  });

  it('keeps every sample when a packet is no Opus, or no audio', () => {
    const packets = packetsOf(sine(300, 24_000, 1));
    const { receiver: ours, heard } = receiver();
    packets.forEach((packet, n) => {
      const { payload, ...header } = parseRtp(packet)!;
      // Configuration 31 with a frame count that the length can not hold.
      const broken = writeRtp({ ...header, payload: Uint8Array.of(0xff, 0x41, payload[0]!) });
      ours.receive(n === 20 ? broken : packet, n * 20);
    });
    expect(heard().length).toBe(packets.length * FRAME);
    expect(ours.counters().invalid).toBe(1);
    ours.close();
  });

  it('leaves out what is of another payload type, or no RTP', () => {
    const { receiver: ours, heard } = receiver();
    for (const [n, packet] of packetsOf(sine(300, 24_000, 1), { payloadType: 63 }).entries())
      ours.receive(packet, n * 20);
    ours.receive(new Uint8Array(5), 0);
    expect(heard().length).toBe(0);
    expect(ours.counters().invalid).toBe(1);
    expect(decoderCount()).toBe(0);
  });

  it('fills nothing because this process stood still: what came meanwhile is handed over afterwards', () => {
    const packets = packetsOf(sine(300, 24_000, 2));
    const { receiver: ours, heard } = receiver();
    for (const [n, packet] of packets.entries()) {
      const at = n * 20;
      // Between 500 and 1,100 ms nothing runs; then the timers do first.
      if (at === 500) ours.tick(1101);
      else if (at < 500 || at > 1100) ours.tick(at);
      ours.receive(packet, at >= 500 && at <= 1100 ? 1101 : at);
    }
    ours.tick(1990);
    expect(heard().length).toBe(packets.length * FRAME);
    expect(ours.counters()).toMatchObject({ late: 0, missing: 0, filledMs: 0 });
    ours.close();
  });

  it('fills what nobody sent: first made up, then silence', () => {
    const packets = packetsOf(sine(300, 24_000, 1));
    const { receiver: ours, heard } = receiver();
    for (const [n, packet] of packets.entries()) ours.receive(packet, n * 20);
    for (let t = 1000; t <= 3000; t += 20) ours.tick(t);
    const samples = heard();
    expect(samples.length / 24).toBe(1000 + 1820);
    expect(rms(samples.subarray(24_000, 24_000 + FRAME))).toBeGreaterThan(1000);
    expect(rms(samples.subarray(24_000 + 10 * FRAME))).toBe(0);
    ours.close();
  });
});

describe('who speaks', () => {
  it('is another source once the first is silent and two packets came in order; its decoder is new', () => {
    const { receiver: ours } = receiver();
    const first = packetsOf(sine(300, 24_000, 0.2), { ssrc: 1 });
    const second = packetsOf(sine(2000, 24_000, 0.5), { ssrc: 2, sequence: 9000, timestamp: 77 });
    for (const [n, packet] of first.entries()) ours.receive(packet, n * 20);
    for (const [n, packet] of second.entries()) ours.receive(packet, 200 + SOURCE_SWITCH_MS + n * 20);
    expect(ours.ssrc).toBe(2);
    expect(decoderCount()).toBe(1);
    expect(ours.counters().received).toBe(10 + 24);
    ours.close();
    expect(decoderCount()).toBe(0);
  });

  it('is not decided anew by single packets of others', () => {
    const { receiver: ours } = receiver();
    const first = packetsOf(sine(300, 24_000, 1), { ssrc: 1 });
    const strange = packetsOf(sine(2000, 24_000, 1), { ssrc: 2 });
    first.forEach((packet, n) => {
      ours.receive(packet, n * 20);
      ours.receive(strange[n]!, n * 20 + 10);
    });
    expect(ours.ssrc).toBe(1);
    expect(ours.counters()).toMatchObject({ received: 50, missing: 0 });
    ours.close();
  });
});

function sender(overrides = {}) {
  const packets: Buffer[] = [];
  const sender = new AudioSender({
    ssrc: 9,
    payloadType: 111,
    bitrate: 24_000,
    complexity: 5,
    firstSequence: 65_534,
    firstTimestamp: 2 ** 32 - 960,
    send: (packet) => packets.push(packet),
    ...overrides,
  });
  return { sender, rtp: () => packets.map((packet) => parseRtp(packet)!) };
}

describe('what we send', () => {
  it('has one number and one time for each 20 ms, across their ends', () => {
    const { sender: ours, rtp } = sender();
    for (const [n, frame] of cut(sine(440, 24_000, 0.2)).entries())
      ours.frame(samplesToPcm16(frame), n * 20 + (n % 3));
    expect(rtp().map(({ sequence }) => sequence)).toEqual([65_534, 65_535, 0, 1, 2, 3, 4, 5, 6, 7]);
    expect(rtp().map(({ timestamp }) => timestamp)).toEqual([
      2 ** 32 - 960,
      0,
      960,
      1920,
      2880,
      3840,
      4800,
      5760,
      6720,
      7680,
    ]);
    expect(rtp().map(({ marker }) => marker)).toEqual([true, ...Array(9).fill(false)]);
    ours.close();
  });

  it('fades out, then says every 400 ms that it is silent, and marks where speech begins again', () => {
    const { sender: ours, rtp } = sender();
    const speech = cut(sine(440, 24_000, 0.1)).map((frame) => samplesToPcm16(frame));
    let slot = 0;
    for (const frame of speech) ours.frame(frame, slot++ * 20);
    for (let n = 0; n < 100; n += 1) ours.frame(null, slot++ * 20);
    for (const frame of speech) ours.frame(frame, slot++ * 20);
    const packets = rtp();
    const silent = packets.slice(5, -5);
    expect(silent.slice(0, TAIL_FRAMES).every(({ payload }) => payload.length > 2)).toBe(true);
    expect(silent.slice(TAIL_FRAMES).every(({ payload }) => payload.length === 1)).toBe(true);
    expect(silent.length - TAIL_FRAMES).toBe(Math.floor(((100 - TAIL_FRAMES) * 20) / SILENCE_EVERY_MS));
    const again = packets.at(-5)!;
    expect(again.marker).toBe(true);
    // 105 places after the first one, on the same clock.
    expect((again.timestamp - packets[0]!.timestamp) >>> 0).toBe(105 * 960);
    for (const [n, packet] of packets.entries()) expect(packet.sequence).toBe((65_534 + n) & 0xffff);
    ours.close();
  });

  it('is what was said', () => {
    const { sender: ours, rtp } = sender();
    for (const [n, frame] of cut(sine(1000, 24_000, 1)).entries()) ours.frame(samplesToPcm16(frame), n * 20);
    const decoder = new OpusDecoder(24_000);
    const heard = concatSamples(rtp().map(({ payload }) => decoder.decode(payload)));
    decoder.free();
    expect(toneLevelDb(heard.subarray(4800), 1000, 24_000)).toBeGreaterThan(-10);
    ours.close();
  });

  it('carries copies when the peer reports loss, at up to 32 kbit/s, and none when it reports none', () => {
    const noise = cut(voice);
    const share = (fractionLost: number) => {
      const { sender: ours, rtp } = sender();
      for (let n = 0; n < 5; n += 1) ours.reported(fractionLost);
      for (const [n, frame] of noise.entries()) ours.frame(samplesToPcm16(frame), n * 20);
      const packets = rtp().map(({ payload }) => payload);
      const bits = packets.reduce((sum, { length }) => sum + length * 8, 0);
      ours.close();
      return {
        fec: packets.filter(opusCarriesFec).length / packets.length,
        kbps: bits / (noise.length * 20),
      };
    };
    const clean = share(0);
    const lossy = share(0.1);
    expect(clean.fec).toBe(0);
    expect(clean.kbps).toBeLessThanOrEqual(26);
    expect(lossy.fec).toBeGreaterThan(0.6);
    expect(lossy.kbps).toBeLessThanOrEqual(34);
  });

  it('follows a rise of the loss at once, and a fall slowly', () => {
    const { sender: ours } = sender();
    ours.reported(0.2);
    expect(ours.expectedLoss).toBe(0.2);
    ours.reported(0);
    expect(ours.expectedLoss).toBeCloseTo(0.16);
    for (let n = 0; n < 30; n += 1) ours.reported(0);
    expect(ours.expectedLoss).toBe(0);
    ours.close();
  });

  it('ends with its encoder freed, once', () => {
    const before = encoderCount();
    const { sender: ours, rtp } = sender();
    expect(encoderCount()).toBe(before + 1);
    ours.close();
    ours.close();
    ours.frame(new Uint8Array(960), 0);
    ours.reported(0.5);
    expect(encoderCount()).toBe(before);
    expect(rtp()).toEqual([]);
  });
});

describe('an Opus packet', () => {
  it.each([
    [0x48, 960],
    [0x18, 2880],
    [0x00, 480],
    [0xf8, 960],
    [0xe0, 120],
    [0x49, 1920],
    [0x4a, 1920],
  ])('that begins with %i is %i samples long', (toc, ticks) => {
    expect(opusPacketTicks(Uint8Array.of(toc, 1, 2))).toBe(ticks);
  });

  it('of more than 120 ms, or of nothing, is none', () => {
    expect(opusPacketTicks(Uint8Array.of(0x1b, 3))).toBe(0);
    expect(opusPacketTicks(new Uint8Array(0))).toBe(0);
  });
});
