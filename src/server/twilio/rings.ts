/**
 * Calls that we place: the agent has something to say to somebody who is not on the line. Whoever answers is a stranger until they
 * show who they are; they hear the message, and may talk on as any caller may.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { LegCapabilities } from '../../leg/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { Desk } from '../desk.ts';
import type { PublicAddress } from '../public-address.ts';
import type { TwilioCalls } from './calls.ts';
import type { WebhookParams } from './signature.ts';
import type { StreamAnswers } from './stream-answers.ts';
import { hangUp } from './twiml.ts';

/** A call that is not answered within its ringing and this is given up. */
export const RING_GRACE_MS = 30_000;
/** Messages that one call may have to say. */
export const MAX_RING_TEXTS = 5;
const HOUR_MS = 3_600_000;

export interface RingsOptions {
  readonly config: Pick<RealtimeConfig, 'ring'>;
  readonly desk: Pick<Desk, 'admit' | 'call'>;
  readonly answers: Pick<StreamAnswers, 'first'>;
  /** `null` without the account's credentials: then nobody is rung. */
  readonly calls: Pick<TwilioCalls, 'place' | 'hangUp'> | null;
  readonly capabilities: LegCapabilities;
  readonly address: PublicAddress;
  readonly clock: Clock;
  /** Stands in front of what names a call: the worker that placed it. */
  readonly tag?: string;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
}

interface Ring {
  readonly nonce: string;
  readonly number: string;
  readonly until: number;
  readonly texts: string[];
}

export class Rings {
  readonly #options: RingsOptions;
  /** By chat; at most one each, and chats are those of the config. */
  readonly #ringing = new Map<string, Ring>();
  readonly #placed = new Map<string, number[]>();
  /** The last call that was answered, by chat: its own chat is another, for nobody has shown who they are. */
  readonly #answered = new Map<string, string>();

  constructor(options: RingsOptions) {
    this.#options = options;
  }

  /** Whether somebody is being rung, and will hear this when they answer. Never rejects. */
  async ring(chatId: string, text: string): Promise<boolean> {
    const { config, calls, address, clock, logger, isDraining, tag = '' } = this.#options;
    const { people, from, maxPerHour, timeoutS } = config.ring;
    const person = people.find((each) => each.chatId === chatId);
    if (!person || !calls || from === undefined || isDraining()) return false;
    const onLine = this.#options.desk.call(this.#answered.get(chatId) ?? '');
    if (onLine && !onLine.isOver) {
      void onLine.speakVerbatim(text);
      return true;
    }
    const now = clock.now();
    const under = this.#ringing.get(chatId);
    if (under && under.until > now) {
      if (under.texts.length >= MAX_RING_TEXTS) return false;
      under.texts.push(text);
      return true;
    }
    const recent = (this.#placed.get(chatId) ?? []).filter((at) => at > now - HOUR_MS);
    if (recent.length >= maxPerHour) {
      logger.warn('a message of the agent’s rang nobody: channels.realtime.ring.maxPerHour is reached');
      return false;
    }
    this.#placed.set(chatId, [...recent, now]);
    const nonce = tag + randomBytes(16).toString('base64url');
    const until = now + timeoutS * 1000 + RING_GRACE_MS;
    this.#ringing.set(chatId, { nonce, number: person.number, until, texts: [text] });
    try {
      const url = `${address.base}/twilio/ring/${nonce}`;
      await calls.place({ to: person.number, from, url, timeoutS });
      logger.info('a message of the agent’s rings its person up');
      return true;
    } catch (error) {
      // Nobody knows whether it rings when Twilio said nothing: then the message stays, and is not sent again.
      if (isVoiceError(error, 'CARRIER_REFUSED')) this.#ringing.delete(chatId);
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'a call could not be placed');
      return false;
    }
  }

  /**
   * The TwiML for a verified webhook: the call was answered.
   *
   * @param nonce - the last part of the address, which is used once
   * @throws VoiceError `REQUEST_INVALID`, `REQUEST_REPLAYED`
   */
  async answered(params: WebhookParams, nonce: string): Promise<string> {
    const { desk, answers, calls, capabilities, clock, logger, isDraining } = this.#options;
    const callSid = params.get('CallSid');
    if (callSid === undefined) throw new VoiceError('REQUEST_INVALID', 'The webhook has no CallSid.');
    const [chatId, ring] = [...this.#ringing].find(([, each]) => each.nonce === nonce) ?? [];
    if (chatId === undefined || !ring || ring.until <= clock.now() || params.get('To') !== ring.number)
      throw new VoiceError('REQUEST_REPLAYED', 'This call was answered already, or was given up.');
    this.#ringing.delete(chatId);
    // A machine that answers is told nothing.
    if (isDraining() || params.get('AnsweredBy')?.startsWith('machine')) return hangUp();
    try {
      const { callId } = await desk.admit({
        identity: { strength: 'claimed', id: ring.number },
        route: '',
        carrier: capabilities.carrier,
        carrierCallId: callSid,
        leg: capabilities,
        ...(calls && { hangUp: () => calls.hangUp(callSid) }),
      });
      const call = desk.call(callId);
      this.#answered.set(chatId, callId);
      for (const text of ring.texts) void call?.speakVerbatim(text);
      logger.info({ callId }, 'a call that we placed was answered');
      return answers.first({ callId, carrierCallId: callSid }).twiml;
    } catch (error) {
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'a call that we placed was turned away');
      return hangUp();
    }
  }
}
