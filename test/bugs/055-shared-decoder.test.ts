// Elsewhere: one Opus decoder was shared by everybody who spoke, and each garbled the other.

import { describe, expect, it } from 'vitest';
import { concatSamples, OpusDecoder, OpusEncoder, pcm16ToSamples } from '../../src/audio/index.ts';
import { AudioReceiver, decoderCount } from '../../src/leg/webrtc/receiver.ts';
import { writeRtp } from '../../src/leg/webrtc/rtp.ts';
import { sine, toneLevelDb } from '../audio/signals.ts';

const FRAME = 480;
const packetsOf = (samples: Int16Array) => {
  const encoder = new OpusEncoder({ sampleRate: 24_000, bitrate: 32_000 });
  const packets = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, n) =>
    encoder.encode(samples.slice(n * FRAME, (n + 1) * FRAME)),
  );
  encoder.free();
  return packets;
};

describe('bug 55: two who speak at once', () => {
  it('each have a decoder with a memory of its own', () => {
    const low = packetsOf(sine(300, 24_000, 2));
    const high = packetsOf(sine(2000, 24_000, 2));
    const [a, b] = [new OpusDecoder(24_000), new OpusDecoder(24_000)];
    const heard = { a: [] as Int16Array[], b: [] as Int16Array[] };
    for (let n = 0; n < low.length; n += 1) {
      heard.a.push(a.decode(low[n]!));
      heard.b.push(b.decode(high[n]!));
    }
    a.free();
    b.free();

    const alone = new OpusDecoder(24_000);
    const expected = concatSamples(low.map((packet) => alone.decode(packet)));
    alone.free();
    expect(concatSamples(heard.a)).toEqual(expected);
    const other = concatSamples(heard.b).subarray(4800);
    expect(toneLevelDb(other, 2000, 24_000) - toneLevelDb(other, 300, 24_000)).toBeGreaterThan(30);
  });

  it('are deaf once freed, and say so', () => {
    const decoder = new OpusDecoder(24_000);
    decoder.free();
    decoder.free();
    expect(() => decoder.decode(new Uint8Array(3))).toThrow(/freed/);
  });

  it('have one decoder for each source, which knows nothing of the source before it and is freed', () => {
    const rtp = (payloads: readonly Uint8Array[], ssrc: number) =>
      payloads.map((payload, n) =>
        writeRtp({ payloadType: 111, marker: false, sequence: n, timestamp: n * 960, ssrc, payload }),
      );
    const high = packetsOf(sine(2000, 24_000, 1));
    const parts: Int16Array[] = [];
    const before = decoderCount();
    const receiver = new AudioReceiver({
      payloadType: 111,
      sampleRate: 24_000,
      onAudio: (pcm) => parts.push(pcm16ToSamples(pcm)),
    });
    for (const [n, packet] of rtp(packetsOf(sine(300, 24_000, 1)), 1).entries())
      receiver.receive(packet, n * 20);
    parts.length = 0;
    for (const [n, packet] of rtp(high, 2).entries()) receiver.receive(packet, 1100 + n * 20);
    expect(decoderCount() - before).toBe(1);
    receiver.close();
    receiver.close();

    expect(decoderCount()).toBe(before);
    // The first packet of a new source only announces it.
    const alone = new OpusDecoder(24_000);
    expect(concatSamples(parts)).toEqual(concatSamples(high.slice(1).map((packet) => alone.decode(packet))));
    alone.free();
  });
});
