import { PCM16_24K } from '../../audio/index.ts';
import type { LegCapabilities } from '../contract.ts';

/** Opus on the wire; the call sees what most models speak, so that nothing is resampled. */
export const WEBRTC_CAPABILITIES: LegCapabilities = {
  carrier: 'webrtc',
  input: PCM16_24K,
  output: PCM16_24K,
  pacing: 'sender',
  frameBytes: 960,
  maxLeadMs: 60,
  marks: 'echo',
  marksOnClear: 'drop',
  clear: 'silent',
  gain: true,
  screen: true,
  dtmfIn: true,
  dtmfOut: false,
  transfer: false,
  reconnects: true,
};
