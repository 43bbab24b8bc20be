/**
 * The board's WebSocket: every change of a record as it happens, to whoever is logged in.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { ApprovalSystem } from '../../approval/index.ts';
import type { Clock, ClockTimer } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { ApprovalRow } from '../../store/index.ts';
import { cardView } from './board-view.ts';
import type { BrowserGuard } from './browser-guard.ts';
import type { OperatorLogin } from './operator-login.ts';

export const BOARD_LIVE_PATH = '/operator/live';
/** Boards open at the same time. */
export const MAX_BOARD_SOCKETS = 32;
/** A board that has so much unread is cut off; it comes back and reads everything anew. */
export const MAX_BOARD_BACKLOG_BYTES = 1_000_000;
/** Logins are looked at again so often. */
const CHECK_EVERY_MS = 30_000;

interface Board {
  readonly ws: WebSocket;
  readonly session: string;
}

export class BoardLive {
  readonly #login: OperatorLogin;
  readonly #guard: BrowserGuard;
  readonly #clock: Clock;
  readonly #boards = new Set<Board>();
  readonly #stop: () => void;
  #timer: ClockTimer | null = null;

  constructor(options: {
    approvals: ApprovalSystem;
    login: OperatorLogin;
    guard: BrowserGuard;
    clock: Clock;
  }) {
    this.#login = options.login;
    this.#guard = options.guard;
    this.#clock = options.clock;
    const { approvals } = options.approvals;
    const stops = (['changed', 'changedElsewhere'] as const).map((event) =>
      approvals.on(event, (record) => this.#send(record)),
    );
    this.#stop = () => {
      for (const stop of stops) stop();
    };
  }

  get size(): number {
    return this.#boards.size;
  }

  /** Checked before there is a WebSocket. @throws VoiceError `ORIGIN_REFUSED`, `OPERATOR_AUTH_REQUIRED`, `TOO_MANY_CONNECTIONS` */
  admit(request: IncomingMessage): string {
    const headers = { get: (name: string) => headerOf(request, name) };
    // Browsers send no cookie rules for WebSockets: the origin is all there is against another site's page.
    if (!this.#guard.isOurOrigin(headers))
      throw new VoiceError('ORIGIN_REFUSED', 'The board is not open to other pages.');
    const session = this.#login.sessionOf(headers);
    if (session === null) throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'Log in at /operator.');
    if (this.#boards.size >= MAX_BOARD_SOCKETS)
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many boards are open.');
    return session;
  }

  accept(ws: WebSocket, session: string): void {
    const board: Board = { ws, session };
    this.#boards.add(board);
    ws.on('error', () => {});
    ws.on('close', () => this.#boards.delete(board));
    // A board has nothing to say here: decisions are POST.
    ws.on('message', () => ws.close(1008, 'nothing is expected here'));
    ws.send(JSON.stringify({ type: 'hello' }));
    this.#arm();
  }

  close(): void {
    this.#stop();
    this.#timer?.clear();
    for (const { ws } of this.#boards) ws.terminate();
    this.#boards.clear();
  }

  #send(record: ApprovalRow): void {
    if (this.#boards.size === 0) return;
    const text = JSON.stringify({ type: 'changed', approval: cardView(record) });
    for (const { ws } of this.#boards) {
      if (ws.bufferedAmount > MAX_BOARD_BACKLOG_BYTES) ws.terminate();
      else if (ws.readyState === ws.OPEN) ws.send(text);
    }
  }

  #arm(): void {
    this.#timer ??= this.#clock.setTimeout(() => {
      this.#timer = null;
      for (const { ws, session } of this.#boards) {
        if (!this.#login.sessions.isLoggedIn(session)) ws.close(1008, 'logged out');
      }
      if (this.#boards.size > 0) this.#arm();
    }, CHECK_EVERY_MS);
  }
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}
