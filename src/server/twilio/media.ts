/**
 * The media socket: a stranger's until it has shown the one-use token of a call, then that call's leg.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { LegCapabilities, TextSocket } from '../../leg/index.ts';
import {
  acceptTwilioStream,
  type TwilioControl,
  TwilioLeg,
  type TwilioStart,
} from '../../leg/twilio/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { Desk } from '../desk.ts';
import type { SocketCaps } from '../socket-caps.ts';
import type { StreamGrant, StreamTokens } from '../stream-tokens.ts';

export interface MediaSocketsOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  readonly tokens: StreamTokens;
  readonly caps: SocketCaps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly accountSid: string | undefined;
  /** What the legs can. */
  readonly capabilities: LegCapabilities;
  /** A call, as it can be changed at Twilio; `null` without the account's credentials. */
  readonly control: (callSid: string) => TwilioControl | null;
}

/** What an upgrade request has shown so far. */
export interface Upgrade {
  /** The token of the path, and what it stood for; `null` when the path had none. */
  readonly fromPath: { readonly token: string; readonly grant: StreamGrant } | null;
  /** Frees the stranger's place. */
  readonly leave: () => void;
}

export class MediaSockets {
  readonly #options: MediaSocketsOptions;
  readonly #legs = new Map<string, TwilioLeg>();

  constructor(options: MediaSocketsOptions) {
    this.#options = options;
  }

  /** Legs whose stream is open. */
  get open(): number {
    return this.#legs.size;
  }

  /**
   * Decides about an upgrade request before it is answered.
   *
   * @param pathToken - the token of the path, or `null` when it comes with `start`
   * @throws VoiceError `STREAM_TOKEN_INVALID`, `TOO_MANY_CONNECTIONS`
   */
  admit(pathToken: string | null, address: string): Upgrade {
    const { tokens, caps } = this.#options;
    if (pathToken !== null) {
      const grant = tokens.take(pathToken);
      if (!grant)
        throw new VoiceError('STREAM_TOKEN_INVALID', 'The stream token is unknown, used or too old.');
      return { fromPath: { token: pathToken, grant }, leave: () => {} };
    }
    const leave = caps.enter(address);
    if (!leave)
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many sockets wait for their first message.');
    return { fromPath: null, leave };
  }

  /** Takes over the socket of an admitted upgrade. */
  accept(socket: TextSocket, upgrade: Upgrade): void {
    const { clock, logger } = this.#options;
    acceptTwilioStream(socket, clock, {
      started: (start) => {
        upgrade.leave();
        const grant = this.#grantOf(start, upgrade);
        if (grant) this.#attach(socket, start, grant);
        else {
          logger.warn({ code: 'STREAM_TOKEN_INVALID' }, 'media socket without a right token closed');
          socket.close(1008);
        }
      },
      failed: (reason) => {
        upgrade.leave();
        logger.warn(
          { reason, callId: upgrade.fromPath?.grant.callId },
          'media socket ended before its start',
        );
      },
    });
  }

  /** The carrier said that the call is over: its stream, if it is still open, ends now. */
  carrierEnded(callSid: string): void {
    const leg = this.#legs.get(callSid);
    if (leg) leg.carrierEnded();
    // Its stream may have broken off before.
    else this.#options.desk.carrierEnded(this.#options.capabilities.carrier, callSid);
  }

  #grantOf(start: TwilioStart, { fromPath }: Upgrade): StreamGrant | null {
    const { tokens, accountSid } = this.#options;
    const shown = start.customParameters.token;
    // Right in the path and another in `start` is nothing that our own TwiML can lead to.
    if (fromPath && shown !== undefined && shown !== fromPath.token) return null;
    const grant = fromPath ? fromPath.grant : tokens.take(shown ?? '');
    if (!grant || grant.carrierCallId !== start.callSid) return null;
    if (accountSid !== undefined && accountSid !== start.accountSid) return null;
    return grant;
  }

  #attach(socket: TextSocket, start: TwilioStart, grant: StreamGrant): void {
    const { config, clock, desk, logger, capabilities } = this.#options;
    const noMediaTimeoutMs = config.limits.noMediaTimeoutS * 1000;
    const control = this.#options.control(start.callSid);
    const leg = new TwilioLeg({
      socket,
      start,
      clock,
      noMediaTimeoutMs,
      capabilities,
      ...(control && { control }),
    });
    leg.onListenerError = (err, event) =>
      logger.error({ err, event, callId: grant.callId }, 'leg listener threw');
    // The newest stream is the call's; to close the one before must not end the call.
    this.#legs.get(leg.callSid)?.superseded();
    this.#legs.set(leg.callSid, leg);
    leg.on('closed', (reason) => {
      // The same call may have a newer stream by now.
      if (this.#legs.get(leg.callSid) === leg) this.#legs.delete(leg.callSid);
      logger.info({ callId: grant.callId, reason }, 'media socket closed');
    });
    try {
      desk.attach(grant.callId, leg);
    } catch (error) {
      const code = isVoiceError(error) ? error.code : 'INTERNAL';
      logger.warn({ callId: grant.callId, code }, 'no call for this media socket');
      leg.hangup().catch(() => logger.warn({ callId: grant.callId }, 'a call could not be hung up'));
    }
  }
}
