/**
 * Calls from pages: admitted, given their connection, and another one when that broke off. A call belongs to the session
 * that made it.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Call } from '../../call/index.ts';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { CallLeg } from '../../leg/index.ts';
import { type PageEvent, PageLink } from '../../leg/page/index.ts';
import { WEBRTC_CAPABILITIES } from '../../leg/webrtc/index.ts';
import type { Logger } from '../../observe/index.ts';
import { withDeadline } from '../deadline.ts';
import type { Desk } from '../desk.ts';
import { ADMIT_TIMEOUT_MS } from '../limits.ts';
import { AddressRate } from './address-rate.ts';
import type { PageUser } from './page-access.ts';
import type { PageLine, PageLines } from './page-lines.ts';

/** Calls of one guest's session at once. */
export const MAX_GUEST_CALLS = 2;
/** Calls of one login of the owner's at once. */
export const MAX_OWNER_CALLS = 8;
/** Requests for a call, or for a new connection of one, of one address in a minute. */
export const MAX_CALL_REQUESTS_PER_ADDRESS = 60;
/** And in all. */
export const MAX_CALL_REQUESTS = 2000;

/** A call of a page's, from its admission to its end. */
export interface PageCall {
  readonly id: string;
  readonly user: PageUser;
  readonly address: string;
  /** What page and call say to each other now. */
  line: PageLine | null;
}

export interface PageCallsOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  readonly lines: PageLines;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
}

/** Who asks for a call, or for a new connection of one. */
export interface CallRequest {
  readonly user: PageUser;
  readonly address: string;
  /** The call whose connection is to be replaced; `null` for a new call. */
  readonly callId: string | null;
}

/** A connection that is there already, and only wants its call. */
export interface Connection {
  readonly leg: CallLeg;
  readonly link: PageLink | null;
  readonly transport: 'webrtc' | 'socket';
}

export class PageCalls {
  readonly #options: PageCallsOptions;
  readonly #calls = new Map<string, PageCall>();
  readonly #requests: AddressRate;
  /** Places taken by calls that are being admitted, by session and by address. */
  readonly #opening = new Set<{ readonly session: string; readonly address: string }>();

  constructor(options: PageCallsOptions) {
    this.#options = options;
    this.#requests = new AddressRate(
      { perAddress: MAX_CALL_REQUESTS_PER_ADDRESS, total: MAX_CALL_REQUESTS },
      options.clock,
    );
  }

  /** Calls from pages now. */
  get size(): number {
    return this.#calls.size;
  }

  /** Why this session can't call now, as a code; `null` when it can. */
  whyNot(user: PageUser, address: string): VoiceError | null {
    const { config, desk, isDraining } = this.#options;
    if (isDraining()) return new VoiceError('SHUTTING_DOWN', 'The server takes no new calls.');
    // An empty list denies everybody; who has a login or a link has been let in by name.
    if (config.allowFrom.length === 0)
      return new VoiceError('CALL_REFUSED', 'Nobody is in channels.realtime.allowFrom.');
    if (desk.activeCalls + desk.pendingCalls >= config.limits.maxCalls)
      return new VoiceError('CALL_LIMIT_REACHED', 'All lines are busy (channels.realtime.limits.maxCalls).');
    const ofSession = this.#count(({ session }) => session === user.session);
    if (ofSession >= (user.role === 'owner' ? MAX_OWNER_CALLS : MAX_GUEST_CALLS))
      return new VoiceError('TOO_MANY_CONNECTIONS', 'This page has too many calls already.');
    if (this.#count((each) => each.address === address) >= config.page.maxCallsPerAddress)
      return new VoiceError('TOO_MANY_CONNECTIONS', 'There are too many calls of this address.');
    return null;
  }

  /** The newest call of a session that still lasts. */
  newestOf(session: string): PageCall | null {
    let newest: PageCall | null = null;
    for (const call of this.#calls.values()) if (call.user.session === session) newest = call;
    return newest;
  }

  /** @throws VoiceError `CALL_NOT_FOUND` for a call that is over, or another session's */
  ofUser(callId: string, user: PageUser): PageCall {
    const call = this.#calls.get(callId);
    if (!call || call.user.session !== user.session)
      throw new VoiceError('CALL_NOT_FOUND', 'There is no such call of this page.');
    return call;
  }

  /**
   * Everything that is checked before a connection is made, and a place for the call.
   *
   * @returns what gives the place back, once the call has it or has failed
   * @throws VoiceError `TOO_MANY_CONNECTIONS`, `CALL_NOT_FOUND`, and what `whyNot` gives
   */
  reserve({ user, address, callId }: CallRequest): () => void {
    if (this.#requests.isOver(address))
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many calls were asked for; try again in a minute.');
    this.#requests.count(address);
    if (callId !== null) {
      this.ofUser(callId, user);
      return () => {};
    }
    const error = this.whyNot(user, address);
    if (error) throw error;
    const place = { session: user.session, address };
    this.#opening.add(place);
    return () => this.#opening.delete(place);
  }

  /** The link of a connection that is to be made. */
  newLink(user: PageUser): PageLink {
    return new PageLink(user.role, () => this.#options.clock.now());
  }

  /**
   * Admits the call of a request that has its place; its connection is still to come.
   *
   * @throws VoiceError as `Desk.admit`
   */
  async admit({ user, address, callId }: CallRequest): Promise<PageCall> {
    if (callId !== null) return this.ofUser(callId, user);
    const { desk, clock, logger, config } = this.#options;
    const admitted = desk.admit({
      identity:
        user.role === 'owner'
          ? { strength: 'authenticated', id: config.page.ownerId }
          : { strength: 'none', id: null },
      route: 'page',
      carrier: WEBRTC_CAPABILITIES.carrier,
      carrierCallId: randomBytes(16).toString('hex'),
      leg: WEBRTC_CAPABILITIES,
    });
    const { callId: id } = await withDeadline(
      clock,
      ADMIT_TIMEOUT_MS,
      admitted,
      () => new VoiceError('MODEL_UNAVAILABLE', 'The model session did not open in time.'),
    );
    const live = this.#live(id);
    const call: PageCall = { id, user, address, line: null };
    this.#calls.set(id, call);
    live.on('ended', (reason) => this.#ended(call, reason));
    logger.info({ callId: id, carrier: 'webrtc', role: user.role }, 'call from a page admitted');
    return call;
  }

  /** Gives a call its connection, in place of the one it has. @throws VoiceError `CALL_NOT_FOUND`, `LEG_PROTOCOL` */
  attach(call: PageCall, { leg, link, transport }: Connection): void {
    const { desk, lines, logger } = this.#options;
    const resumed = call.line !== null;
    leg.onListenerError = (err, event) => logger.error({ err, event, callId: call.id }, 'leg listener threw');
    const live = this.#live(call.id);
    // What the page is told first stands first in what waits for its hello.
    const line = lines.open({ call, live, link, transport, resumed });
    try {
      desk.attach(call.id, leg);
    } catch (error) {
      line.close();
      throw error;
    }
    call.line?.close();
    call.line = line;
    live.callerMuted(false);
    leg.on('closed', (reason) => {
      line.close();
      logger.info({ callId: call.id, transport, reason }, 'connection of a page closed');
    });
  }

  /** A connection that got no call. */
  abandon(leg: CallLeg): void {
    leg.hangup().catch((error: unknown) => {
      const code = isVoiceError(error) ? error.code : 'INTERNAL';
      this.#options.logger.warn({ code }, 'a connection could not be closed');
    });
  }

  /** A session is over: so are its calls. */
  endSession(session: string): void {
    for (const call of this.#calls.values())
      if (call.user.session === session) this.#options.desk.call(call.id)?.end('caller_hangup');
  }

  /** Tells a change of the world to the lines of all calls. */
  forEach(visit: (call: PageCall) => void): void {
    for (const call of this.#calls.values()) visit(call);
  }

  #live(callId: string): Call {
    const live = this.#options.desk.call(callId);
    if (!live) throw new VoiceError('CALL_NOT_FOUND', 'The call is over.');
    return live;
  }

  #ended(call: PageCall, reason: string): void {
    this.#calls.delete(call.id);
    const ended: PageEvent = { type: 'ended', reason };
    call.line?.end(ended);
  }

  #count(matches: (call: { readonly session: string; readonly address: string }) => boolean): number {
    let count = 0;
    for (const { user, address } of this.#calls.values())
      if (matches({ session: user.session, address })) count += 1;
    for (const each of this.#opening) if (matches(each)) count += 1;
    return count;
  }
}
