/** Speech both ways through a network of bad manners, in real time, and what came of it. */

import { concatSamples, OpusDecoder, pcm16ToSamples, samplesToPcm16 } from '../../../src/audio/index.ts';
import { AudioReceiver, type ReceiverCounters } from '../../../src/leg/webrtc/receiver.ts';
import { every20ms, openTestPeers, until } from '../../bugs/webrtc-line.ts';
import { compare, type Listening } from './listening.ts';
import { speech } from './speech.ts';
import { isMedia, type Manners, seeded, UdpRelay, withoutCandidates } from './udp-relay.ts';
import { WeriftPeer } from './werift-peer.ts';

export interface Way {
  readonly counters: ReceiverCounters;
  readonly waitMs: number;
  readonly listening: Listening;
}

export interface NetworkRun {
  /** Caller to us. */
  readonly in: Way;
  /** Us to the caller, heard by a receiver like ours. */
  readonly out: Way;
  readonly lost: number;
  readonly passed: number;
}

/** Loses a share of the media, and delays each packet by 0 to `jitterMs`, so that they overtake each other. */
export function badManners(
  loss: number,
  jitterMs: number,
  seed: number,
  count: { lost: number; passed: number },
): Manners {
  const random = seeded(seed);
  return ({ bytes }) => {
    if (!isMedia(bytes)) return [random() * jitterMs];
    if (random() < loss) {
      count.lost += 1;
      return [];
    }
    count.passed += 1;
    return [random() * jitterMs];
  };
}

/** @param seconds - of speech that counts; three more go first, in which both ends learn what the network is like */
export async function runNetwork(
  seconds: number,
  manners: (count: { lost: number; passed: number }) => Manners,
): Promise<NetworkRun> {
  const line = await openTestPeers();
  const caller = line.keep(new WeriftPeer());
  const relay = line.keep(await UdpRelay.open());
  try {
    const answer = await line.peers.answer(withoutCandidates(await caller.offer()));
    await caller.accept(relay.inAnswer(answer.sdp));
    await answer.connected;
    await caller.whenConnected();
    const count = { lost: 0, passed: 0 };
    relay.manners = manners(count);
    const voice = await speech(seconds + 3);
    const sent: Uint8Array[] = [];
    const heardIn: Int16Array[] = [];
    answer.leg.on('audio', (audio) => heardIn.push(pcm16ToSamples(audio as Uint8Array)));
    const heardOut: Int16Array[] = [];
    const listener = new AudioReceiver({
      payloadType: 96,
      sampleRate: 24_000,
      onAudio: (pcm) => heardOut.push(pcm16ToSamples(pcm)),
    });
    caller.onPacket = (packet) => listener.receive(packet.serialize(), performance.now());
    caller.onSent = (payload) => sent.push(payload);
    const frames = Math.floor(voice.length / 480);
    let n = 0;
    const frame = (at: number) => voice.slice(at * 480, (at + 1) * 480);
    const stop = every20ms((tick) => {
      listener.tick(performance.now());
      // We are a few frames ahead, as the call's pacer is.
      if (tick === 0)
        for (let ahead = 0; ahead < 3; ahead += 1) answer.leg.send('item', samplesToPcm16(frame(ahead)));
      if (tick + 3 < frames) answer.leg.send('item', samplesToPcm16(frame(tick + 3)));
      if (tick < frames) caller.speak(frame(tick));
      n = tick;
    });
    await until(() => n >= frames + 20, (seconds + 30) * 1000);
    stop();
    const decoder = new OpusDecoder(24_000);
    const cleanIn = concatSamples(sent.map((payload) => decoder.decode(payload)));
    decoder.free();
    const skip = 3 * 24_000;
    const way = (
      clean: Int16Array,
      parts: readonly Int16Array[],
      counters: ReceiverCounters,
      waitMs: number,
    ): Way => ({
      counters,
      waitMs,
      listening: compare(clean.subarray(skip), concatSamples([...parts]).subarray(skip)),
    });
    const result = {
      in: way(cleanIn, heardIn, answer.leg.received, answer.leg.waitMs),
      out: way(voice, heardOut, listener.counters(), listener.waitMs),
      ...count,
    };
    listener.close();
    return result;
  } finally {
    await line.close();
  }
}
