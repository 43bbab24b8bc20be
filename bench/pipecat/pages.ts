/**
 * A process of callers from web pages: WebRTC on the native stack, packets of Opus made beforehand, in bursts of tone
 * (`bursts.ts`). They ask for a call over WHIP, or as Pipecat's SmallWebRTC wants it.
 *
 * @module
 */

import { loadAudio, OpusDecoder, OpusEncoder } from '../../src/audio/index.ts';
import { isRtcp, parseRtp } from '../../src/leg/webrtc/rtp.ts';
import { NativePeer } from '../../test/leg/webrtc/native-peer.ts';
import { nowUs } from '../lib/monotonic.ts';
import { Grid } from '../relay/grid.ts';
import { BurstListener, beginsBurst, burstFrames, type Heard } from './bursts.ts';

export type PageTarget =
  /** Each caller is a guest of their own, by a link that the operator makes. */
  | { readonly gateway: string; readonly token: string }
  /** Takes and returns `{ sdp, type }` as JSON. */
  | { readonly offer: string };

const RATE = 24_000;
/** Ticks of RTP's clock in a frame. */
const FRAME_TICKS = 960;
/** A pause of more frames than this is no silence that was left out. */
const MAX_GAP_FRAMES = 50;

await loadAudio();
const encoder = new OpusEncoder({ sampleRate: RATE, bitrate: 32_000, fec: true, expectedLossPercent: 5 });
const sound = burstFrames(RATE);
// The second time round the encoder is where it will be each time from then on.
for (const frame of sound) encoder.encode(frame);
const PACKETS = sound.map((frame) => Uint8Array.from(encoder.encode(frame)));

interface Call {
  readonly peer: NativePeer;
  readonly listener: BurstListener;
  readonly heard: Heard[];
  readonly sentUs: number[];
  readonly decoder: OpusDecoder;
  sent: number;
  timestamp: number | null;
}

const calls: Call[] = [];

const grid = new Grid<Call>((call) => {
  if (beginsBurst(call.sent)) call.sentUs.push(nowUs());
  call.peer.speak(PACKETS[call.sent % PACKETS.length] ?? new Uint8Array());
  call.sent += 1;
});

function onPacket(call: Call, bytes: Buffer): void {
  const arrivedUs = nowUs();
  const packet = isRtcp(bytes) ? null : parseRtp(bytes);
  if (!packet || packet.payloadType !== call.peer.payloadType || packet.payload.byteLength === 0) return;
  const { timestamp, payload } = packet;
  const ahead = call.timestamp === null ? 1 : ((timestamp - call.timestamp) | 0) / FRAME_TICKS;
  if (ahead <= 0) return;
  // What was not sent, or got lost, is a pause.
  if (ahead > 1 && ahead <= MAX_GAP_FRAMES)
    call.listener.push(new Int16Array(Math.round((ahead - 1) * (RATE / 50))), arrivedUs);
  call.timestamp = timestamp;
  call.listener.push(call.decoder.decode(payload), arrivedUs);
}

async function post(url: string, contentType: string, body: string, bearer?: string): Promise<Response> {
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': contentType, ...authorization },
    body,
  });
  if (response.ok) return response;
  throw new Error(`The call was not taken: HTTP ${response.status} ${await response.text()}`);
}

async function answerFrom(target: PageTarget, sdp: string): Promise<string> {
  if ('offer' in target) {
    const answer = await post(target.offer, 'application/json', JSON.stringify({ sdp, type: 'offer' }));
    return ((await answer.json()) as { sdp: string }).sdp;
  }
  const { gateway, token } = target;
  const link = await post(`${gateway}/page/links`, 'application/json', '{}', token);
  const { code } = (await link.json()) as { code: string };
  return (await post(`${gateway}/page/calls`, 'application/sdp', sdp, code)).text();
}

const CONNECT_LIMIT_MS = 15_000;

async function dial(target: PageTarget): Promise<void> {
  const peer = new NativePeer(`caller-${calls.length}`);
  const heard: Heard[] = [];
  const call: Call = {
    peer,
    listener: new BurstListener(RATE, (each) => heard.push(each)),
    heard,
    sentUs: [],
    decoder: new OpusDecoder(RATE),
    sent: 0,
    timestamp: null,
  };
  peer.onPacket = (packet) => onPacket(call, packet);
  peer.accept(await answerFrom(target, await peer.offer()));
  const limit = performance.now() + CONNECT_LIMIT_MS;
  while (!peer.isOpen) {
    if (performance.now() > limit) throw new Error('The media did not connect.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  calls.push(call);
  grid.add(call);
}

process.on('message', async ({ ask, target }: { ask?: string; target?: PageTarget }) => {
  if (ask === undefined) return;
  try {
    if (ask === 'dial' && target) await dial(target);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  }
  const value = {
    refused: 0,
    open: calls.filter(({ peer }) => peer.isOpen).length,
    readUs: nowUs(),
    ends: calls.map(({ sentUs, heard, sent, listener: { samples } }) => ({
      sentUs,
      heard,
      sentMs: sent * 20,
      heardMs: (samples * 1000) / RATE,
    })),
  };
  process.send?.({ reply: { of: ask, value: ask === 'read' ? value : null } });
});
process.send?.({ ready: 'pages' });
