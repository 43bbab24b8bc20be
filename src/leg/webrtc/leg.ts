import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents } from '../contract.ts';
import { WEBRTC_CAPABILITIES } from './capabilities.ts';

/** A call from a browser, or from another WebRTC client. */
export class WebRtcLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = WEBRTC_CAPABILITIES;

  send(): void {}
  mark(): void {}
  clear(): void {}
  setGain(): void {}
  sendDtmf(): Promise<void> {
    return Promise.reject(new VoiceError('LEG_UNSUPPORTED', 'A web page is sent no digits.'));
  }
  transfer(): Promise<void> {
    return Promise.reject(
      new VoiceError('LEG_UNSUPPORTED', 'A call from a web page can not be transferred.'),
    );
  }
  show(): void {}
  hangup(): Promise<void> {
    return Promise.resolve();
  }
}
