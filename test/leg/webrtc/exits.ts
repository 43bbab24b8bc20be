/** One call, begun and ended; then the process has nothing left to do and must end by itself. */

import { realClock } from '../../../src/clock.ts';
import { webrtcSchema } from '../../../src/config-webrtc.ts';
import { openWebRtcPeers } from '../../../src/leg/webrtc/index.ts';
import { NativePeer } from './native-peer.ts';

const peers = await openWebRtcPeers({
  config: webrtcSchema.parse({ bindAddress: '127.0.0.1' }),
  clock: realClock,
});
const caller = new NativePeer();
const answer = await peers.answer(await caller.offer());
caller.accept(answer.sdp);
console.log((await answer.connected) ? 'connected' : 'failed');
if (process.argv[2] === 'caller') caller.close();
await peers.close();
if (process.argv[2] !== 'caller') caller.close();
