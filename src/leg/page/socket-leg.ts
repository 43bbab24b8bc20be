/**
 * A page's call over a WebSocket, for networks that let nothing else through: 20 ms of PCM16 at 24 kHz in each binary
 * frame, both ways, and the page's messages as text.
 *
 * @module
 */

import { PCM16_24K } from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCapabilities } from '../contract.ts';
import type { TextSocket } from '../socket.ts';
import type { PageLink } from './link.ts';

/** A WebSocket that takes bytes too. */
export interface PageSocket extends TextSocket {
  /** Queues one binary message; does nothing once the socket is closing. */
  sendBytes(bytes: Uint8Array): void;
}

export const PAGE_SOCKET_CAPABILITIES: LegCapabilities = {
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

export interface PageSocketLegOptions {
  readonly socket: PageSocket;
  readonly link: PageLink;
  readonly clock: Clock;
  /** No audio for this long closes the leg with `no_media`. @defaultValue 30000 */
  readonly noMediaTimeoutMs?: number;
}

export class PageSocketLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = PAGE_SOCKET_CAPABILITIES;

  constructor(_options: PageSocketLegOptions) {
    super();
  }

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
