/**
 * The callers of `bench/webrtc.ts`, in a process of their own: WebRTC on the native stack, packets made beforehand.
 *
 * @module
 */

import { OpusEncoder, opusPacketTicks } from '../src/audio/index.ts';
import { NativePeer } from '../test/leg/webrtc/native-peer.ts';
import { speech } from '../test/leg/webrtc/speech.ts';

export type BenchCommand =
  | { readonly type: 'open'; readonly count: number }
  | { readonly type: 'accept'; readonly answers: readonly string[] }
  | { readonly type: 'talk'; readonly ms: number };

export type BenchReply =
  | { readonly type: 'opened'; readonly offers: string[] }
  | { readonly type: 'accepted' }
  /** Monotonic times of the machine, in ms: of each packet sent, and of each that began to speak. */
  | { readonly type: 'talked'; readonly sent: number[][]; readonly began: number[][] };

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
const encoder = new OpusEncoder({ sampleRate: 24_000, bitrate: 32_000, fec: true, expectedLossPercent: 5 });
const voice = await speech(10);
const PACKETS = Array.from({ length: 500 }, (_, n) => encoder.encode(voice.slice(n * 480, (n + 1) * 480)));
if (PACKETS.some((packet) => opusPacketTicks(packet) !== 960))
  throw new Error('Packets of 20 ms were meant.');

let peers: NativePeer[] = [];
let began: number[][] = [];

async function run(command: BenchCommand): Promise<BenchReply> {
  switch (command.type) {
    case 'open': {
      peers = Array.from({ length: command.count }, (_, n) => new NativePeer(`caller-${n}`));
      began = peers.map(() => []);
      for (const [n, peer] of peers.entries())
        peer.onPacket = (packet) => {
          // The marker bit, and no RTCP (whose second byte begins with it as well).
          const second = packet[1] ?? 0;
          if (second === (0x80 | peer.payloadType)) began[n]?.push(monotonic());
        };
      return { type: 'opened', offers: await Promise.all(peers.map((peer) => peer.offer())) };
    }
    case 'accept': {
      for (const [n, peer] of peers.entries()) peer.accept(command.answers[n] ?? '');
      while (!peers.every((peer) => peer.isOpen)) await new Promise((resolve) => setTimeout(resolve, 20));
      return { type: 'accepted' };
    }
    case 'talk': {
      const sent: number[][] = peers.map(() => []);
      const startedAt = monotonic();
      // Callers are spread over the 20 ms, as people are.
      const phase = (n: number) => (n * 20) / peers.length;
      await new Promise<void>((resolve) => {
        const timer = setInterval(() => {
          const elapsed = monotonic() - startedAt;
          for (const [n, peer] of peers.entries()) {
            const times = sent[n] ?? [];
            while (times.length * 20 + phase(n) <= elapsed && times.length * 20 < command.ms) {
              times.push(monotonic());
              peer.speak(PACKETS[(times.length + n * 37) % PACKETS.length] ?? new Uint8Array());
            }
          }
          if (elapsed < command.ms + 500) return;
          clearInterval(timer);
          resolve();
        }, 1);
      });
      return { type: 'talked', sent, began };
    }
    default:
      return command satisfies never;
  }
}

process.on('message', (command: BenchCommand) => {
  void run(command).then((reply) => process.send?.(reply));
});
