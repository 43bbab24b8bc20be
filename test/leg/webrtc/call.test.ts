import { afterEach, describe, expect, it } from 'vitest';
import { concatSamples, pcm16ToSamples, samplesToPcm16 } from '../../../src/audio/index.ts';
import { realClock } from '../../../src/clock.ts';
import { webrtcSchema } from '../../../src/config-webrtc.ts';
import { openWebRtcPeers, type WebRtcPeers } from '../../../src/leg/webrtc/index.ts';
import { sine, toneLevelDb } from '../../audio/signals.ts';
import { WeriftPeer } from './werift-peer.ts';

let peers: WebRtcPeers;
const open = async () => {
  peers = await openWebRtcPeers({
    config: webrtcSchema.parse({ bindAddress: '127.0.0.1' }),
    clock: realClock,
  });
};
afterEach(() => peers.close());

describe('a call with an independent WebRTC library', () => {
  it('hears its tone and is heard', { timeout: 20_000 }, async () => {
    await open();
    const caller = new WeriftPeer({ channel: true });
    const { sdp, leg, connected } = await peers.answer(await caller.offer());
    const got: Int16Array[] = [];
    leg.on('audio', (audio) => got.push(pcm16ToSamples(audio as Uint8Array)));
    await caller.accept(sdp);
    expect(await connected).toBe(true);
    const tone = sine(440, 24_000, 2);
    const ours = sine(1000, 24_000, 2);
    let n = 0;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        caller.speak(tone.slice(n * 480, n * 480 + 480));
        leg.send('item', samplesToPcm16(ours.slice(n * 480, n * 480 + 480)));
        if (++n === 90) {
          clearInterval(timer);
          setTimeout(resolve, 200);
        }
      }, 20);
    });
    const heard = concatSamples(got);
    expect(
      toneLevelDb(heard.subarray(4800), 440, 24_000) - toneLevelDb(heard.subarray(4800), 1000, 24_000),
    ).toBeGreaterThan(30);
    const back = caller.heardSamples();
    expect(
      toneLevelDb(back.subarray(4800), 1000, 24_000) - toneLevelDb(back.subarray(4800), 440, 24_000),
    ).toBeGreaterThan(30);
    await caller.close();
  });
});
