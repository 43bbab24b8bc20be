/**
 * The beginning of a media stream: `connected`, then `start`, within a deadline, and nothing else before them.
 * Until then nobody knows whose call the socket is, so no leg exists.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import type { TextSocket } from '../socket.ts';
import { parseTwilioMessage, type TwilioMessage, type TwilioStart } from './protocol.ts';

/** How long a socket may take to say which stream it is. */
export const START_TIMEOUT_MS = 5000;

/** Why no stream came of a socket. */
export type NoStreamReason = 'timeout' | 'protocol_error' | 'closed';

export interface StreamAcceptor {
  /** The stream's `start`, read and checked. The socket has no sink now: make a leg of it or close it. */
  started(start: TwilioStart): void;
  /** Called instead of `started`, at most once; the socket is closed or closing. */
  failed(reason: NoStreamReason): void;
}

/** Waits for `start` on a fresh socket. Exactly one of the acceptor's two functions is called, once. */
export function acceptTwilioStream(socket: TextSocket, clock: Clock, acceptor: StreamAcceptor): void {
  let connected = false;
  const timer = clock.setTimeout(() => fail('timeout', 1008), START_TIMEOUT_MS);

  function settle(): void {
    timer.clear();
    socket.listen(null);
  }

  function fail(reason: NoStreamReason, closeCode: number): void {
    settle();
    socket.close(closeCode);
    acceptor.failed(reason);
  }

  function onMessage(data: string | Uint8Array): void {
    let message: TwilioMessage;
    try {
      message = parseTwilioMessage(data);
    } catch (error) {
      if (!isVoiceError(error, 'LEG_PROTOCOL')) throw error;
      fail('protocol_error', 1002);
      return;
    }
    if (message.event === 'connected' && !connected) {
      connected = true;
    } else if (message.event === 'start') {
      settle();
      acceptor.started(message.start);
    } else {
      fail('protocol_error', 1002);
    }
  }

  socket.listen({ message: onMessage, closed: () => fail('closed', 1000) });
}
