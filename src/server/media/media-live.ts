/**
 * The socket of a caller's page: it is told what was sent on its call, and says what it shows.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { ClockTimer } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { Media } from '../../media/index.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import { pageSessionOf } from './page-session.ts';

export const MEDIA_LIVE_PATH = '/media/live';
/** Messages that a page may send on one connection. */
export const MAX_PAGE_MESSAGES = 2000;
/** A page that does not answer a ping for this long is gone. */
export const PAGE_PING_MS = 20_000;

export class MediaLive {
  readonly #media: Media;
  readonly #guard: BrowserGuard;

  constructor(media: Media, guard: BrowserGuard) {
    this.#media = media;
    this.#guard = guard;
  }

  /** Checked before there is a WebSocket; gives the call. @throws VoiceError `ORIGIN_REFUSED`, `MEDIA_NOT_FOUND` */
  admit(request: IncomingMessage): string {
    const get = (name: string) => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : null;
    };
    if (!this.#guard.isOurOrigin({ get }))
      throw new VoiceError('ORIGIN_REFUSED', 'The socket is not open to other pages.');
    const { signer, clock } = this.#media;
    const callId = pageSessionOf(signer, get('cookie'), clock.wallNow());
    if (callId === null) throw new VoiceError('MEDIA_NOT_FOUND', 'The page belongs to no call.');
    return callId;
  }

  accept(ws: WebSocket, callId: string): void {
    const { pages, clock } = this.#media;
    const page = pages.connect(callId, {
      send: (text) => {
        if (ws.readyState === ws.OPEN) ws.send(text);
      },
      close: (code) => ws.close(code),
    });
    if (page === null) {
      ws.close(1013);
      return;
    }
    let messages = 0;
    let isAlive = true;
    let timer: ClockTimer | null = null;
    const ping = () => {
      if (!isAlive) {
        ws.terminate();
        return;
      }
      isAlive = false;
      ws.ping();
      timer = clock.setTimeout(ping, PAGE_PING_MS);
    };
    timer = clock.setTimeout(ping, PAGE_PING_MS);
    ws.on('pong', () => {
      isAlive = true;
    });
    ws.on('error', () => {});
    ws.on('message', (data, isBinary) => {
      messages += 1;
      if (messages > MAX_PAGE_MESSAGES) ws.close(1008);
      else page.message(isBinary || !Buffer.isBuffer(data) ? '' : data.toString('utf8'));
    });
    ws.on('close', () => {
      timer?.clear();
      page.closed();
    });
  }
}
