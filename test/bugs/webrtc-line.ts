/** Our end of calls from web pages, on loopback, with independent callers that are closed at the end. */

import { concatSamples, pcm16ToSamples } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { webrtcSchema } from '../../src/config-webrtc.ts';
import { openWebRtcPeers, type WebRtcLeg, type WebRtcPeers } from '../../src/leg/webrtc/index.ts';
import { sine, toneLevelDb } from '../audio/signals.ts';
import type { WeriftPeer } from '../leg/webrtc/werift-peer.ts';

const FRAME = 480;

export interface TestPeers {
  readonly peers: WebRtcPeers;
  /** Closes it at the end. */
  keep<T extends { close(): unknown }>(what: T): T;
  /** Whether a tone of the caller's comes out of the leg within 5 s. */
  hears(caller: WeriftPeer, leg: WebRtcLeg): Promise<boolean>;
  close(): Promise<void>;
}

export async function openTestPeers(
  config: object = {},
  more: { maxPeers?: number } = {},
): Promise<TestPeers> {
  const peers = await openWebRtcPeers({
    config: webrtcSchema.parse({ bindAddress: '127.0.0.1', ...config }),
    clock: realClock,
    ...more,
  });
  const kept: { close(): unknown }[] = [];
  return {
    peers,
    keep(what) {
      kept.push(what);
      return what;
    },
    hears,
    async close() {
      await peers.close();
      await Promise.all(kept.map((each) => each.close()));
    },
  };
}

async function hears(caller: WeriftPeer, leg: WebRtcLeg): Promise<boolean> {
  const tone = sine(440, 24_000, 5);
  const heard: Int16Array[] = [];
  const off = leg.on('audio', (audio) => heard.push(pcm16ToSamples(audio as Uint8Array)));
  const stop = every20ms((n) => {
    if ((n + 1) * FRAME <= tone.length) caller.speak(tone.slice(n * FRAME, (n + 1) * FRAME));
  });
  const isHeard = await until(() => {
    const samples = concatSamples(heard).subarray(-9600);
    return samples.length === 9600 && toneLevelDb(samples, 440, 24_000) > -20;
  }, 5000);
  stop();
  off();
  return isHeard;
}

/** Calls 50 times a second until it is stopped, as often as time asks for. */
export function every20ms(callback: (n: number) => void): () => void {
  const startedAt = performance.now();
  let n = 0;
  const timer = setInterval(() => {
    while (performance.now() - startedAt >= n * 20) callback(n++);
  }, 10);
  return () => clearInterval(timer);
}

/** Looks every 20 ms. Resolves to whether it became true in time. */
export async function until(isTrue: () => boolean, limitMs: number): Promise<boolean> {
  const endsAt = performance.now() + limitMs;
  while (!isTrue()) {
    if (performance.now() > endsAt) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
