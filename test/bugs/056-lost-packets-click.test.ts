// Elsewhere: nothing was put in the place of lost packets, and 5 % of loss were clicks.

import { describe, expect, it } from 'vitest';
import { concatSamples, OpusDecoder, OpusEncoder, pcm16ToSamples } from '../../src/audio/index.ts';
import { AudioReceiver } from '../../src/leg/webrtc/receiver.ts';
import { writeRtp } from '../../src/leg/webrtc/rtp.ts';
import { rms, sine } from '../audio/signals.ts';

const FRAME = 480;
const packetsOf = (samples: Int16Array, fec = false) => {
  const encoder = new OpusEncoder({
    sampleRate: 24_000,
    fec,
    expectedLossPercent: fec ? 10 : 0,
    bitrate: 32_000,
  });
  const packets = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, n) =>
    encoder.encode(samples.slice(n * FRAME, (n + 1) * FRAME)),
  );
  encoder.free();
  return packets;
};

describe('bug 56: every twentieth packet lost', () => {
  it.each(['conceal', 'recover'] as const)('(%s) keeps every sample and leaves no hole', (how) => {
    const packets = packetsOf(sine(300, 24_000, 4), how === 'recover');
    const decoder = new OpusDecoder(24_000);
    const parts: Int16Array[] = [];
    const holes: Int16Array[] = [];
    packets.forEach((packet, n) => {
      if (n % 20 === 11) {
        // The packet before this one never came.
        holes.push(how === 'recover' ? decoder.recover(packet, 20) : decoder.conceal(20));
        parts.push(holes.at(-1)!);
      }
      if (n % 20 !== 10) parts.push(decoder.decode(packet));
    });
    decoder.free();

    expect(concatSamples(parts).length).toBe(packets.length * FRAME);
    expect(holes).toHaveLength(10);
    for (const hole of holes) expect(rms(hole)).toBeGreaterThan(3000);
  });

  it('keeps every sample when a lost one comes after all, too late: it is dropped', () => {
    const rtp = packetsOf(sine(300, 24_000, 4)).map((payload, n) =>
      writeRtp({ payloadType: 111, marker: false, sequence: n, timestamp: n * 960, ssrc: 1, payload }),
    );
    const parts: Int16Array[] = [];
    const receiver = new AudioReceiver({
      payloadType: 111,
      sampleRate: 24_000,
      onAudio: (pcm) => parts.push(pcm16ToSamples(pcm)),
    });
    const late: { packet: Buffer; at: number }[] = [];
    for (const [n, packet] of rtp.entries()) {
      if (n % 20 === 10) late.push({ packet, at: n * 20 + 400 });
      else receiver.receive(packet, n * 20);
      for (const each of late) if (each.at === n * 20) receiver.receive(each.packet, n * 20);
      receiver.tick(n * 20 + 10);
    }

    // The last gap waits as long as the others taught it to.
    receiver.tick(rtp.length * 20 + 30);
    expect(concatSamples(parts).length).toBe(rtp.length * FRAME);
    expect(receiver.counters().missing).toBe(10);
    // The last one would have come after the end of the recording.
    expect(receiver.counters().late).toBe(late.filter(({ at }) => at < rtp.length * 20).length);
    receiver.close();
  });
});
