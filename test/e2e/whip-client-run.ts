/**
 * A whole call of Debian's `whip-client`, in a network of its own: prints what came of it as one line of JSON. The client has
 * no address but loopback here, so that is what it offers.
 */

import { spawn } from 'node:child_process';
import { concatSamples, pcm16ToSamples } from '../../src/audio/index.ts';
import { toneLevelDb } from '../audio/signals.ts';
import { closePageRigs, pageRig, until } from '../server/page/rig.ts';

const TONE_HZ = 440;
const AUDIO =
  `audiotestsrc is-live=true wave=sine freq=${TONE_HZ} ! audio/x-raw,rate=48000,channels=1 ! audioconvert ! opusenc ! ` +
  'rtpopuspay pt=100 ssrc=1 ! queue ! application/x-rtp,media=audio,encoding-name=OPUS,payload=100';

// The only address of this network besides loopback, which the client does not offer.
const rig = await pageRig({
  config: { webrtc: { bindAddress: process.argv[2] ?? '127.0.0.1', ipv6: false } },
});
const heard: Int16Array[] = [];
const attach = rig.desk.attach.bind(rig.desk);
rig.desk.attach = (callId, leg) => {
  leg.on('audio', (audio) => heard.push(pcm16ToSamples(audio as Uint8Array)));
  attach(callId, leg);
};
const args = ['-u', `${rig.url}/page/calls`, '-t', await rig.code(), '-o', '-A', AUDIO];
const child = spawn('whip-client', args, { stdio: ['ignore', 'pipe', 'pipe'] });
let log = '';
for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (log += data));
const exited = new Promise((resolve) => child.on('exit', resolve));
try {
  await until('a second of it is heard', () => concatSamples(heard).length > 36_000);
  const samples = concatSamples(heard).subarray(-24_000);
  const toneDb = toneLevelDb(samples, TONE_HZ, 24_000);
  const otherDb = toneLevelDb(samples, 1000, 24_000);
  const modelMs = rig.model.session.inputMs;
  child.kill('SIGINT');
  await exited;
  await until('the call ended', () => rig.desk.activeCalls === 0);
  await until('its connection is freed', () => rig.peers?.size === 0);
  const [call] = await rig.store.listCalls();
  process.stdout.write(
    `${JSON.stringify({ toneDb, otherDb, modelMs, endReason: call?.endReason, peers: rig.peers?.size })}\n`,
  );
} catch (error) {
  process.stderr.write(`${String(error)}\n${log}\n`);
  process.exitCode = 1;
} finally {
  child.kill('SIGKILL');
  await closePageRigs();
}
