/**
 * The webhook of an incoming call: who calls, may they, is there a line, and the TwiML that says so.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { LegCapabilities } from '../../leg/index.ts';
import type { Logger } from '../../observe/index.ts';
import { withDeadline } from '../deadline.ts';
import type { CallerInfo, Desk } from '../desk.ts';
import { ADMIT_TIMEOUT_MS, MAX_ANSWERED_CALLS } from '../limits.ts';
import type { StreamTokens } from '../stream-tokens.ts';
import { calledRoute, callerIdentity, isAllowed } from './caller.ts';
import type { TwilioCalls } from './calls.ts';
import type { WebhookParams } from './signature.ts';
import type { Answer, StreamAnswers } from './stream-answers.ts';
import { sayAndHangUp } from './twiml.ts';

/** Said when the error that stopped a call has no words for the caller. */
const NO_WORDS = 'Sorry, something went wrong on our side. Please call again.';

export interface VoiceWebhookOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  readonly tokens: StreamTokens;
  readonly answers: StreamAnswers;
  /** What the legs of these calls can. */
  readonly capabilities: LegCapabilities;
  /** Ends calls that have no leg to do it; `null` without the account's credentials. */
  readonly calls: TwilioCalls | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
}

export class VoiceWebhook {
  readonly #options: VoiceWebhookOptions;
  /** Calls that were answered, oldest first: Twilio asks again when it lost our answer. */
  readonly #answered = new Map<string, Promise<Answer>>();

  constructor(options: VoiceWebhookOptions) {
    this.#options = options;
  }

  /**
   * The TwiML for a verified webhook. Asked again for the same call it is the same, as long as its stream is
   * still to come; after that the request is a replay.
   *
   * @param continues - the call it goes on from, when the process that had it is gone
   * @throws VoiceError `REQUEST_INVALID`, `REQUEST_REPLAYED`
   */
  async answer(params: WebhookParams, continues?: CallerInfo['continues']): Promise<string> {
    const callSid = params.get('CallSid');
    if (callSid === undefined || !/^\w{1,64}$/.test(callSid)) {
      throw new VoiceError('REQUEST_INVALID', 'The webhook has no CallSid.');
    }
    const before = this.#answered.get(callSid);
    if (before) return this.#again(await before);

    const answer = this.#decide(callSid, params, continues);
    this.#answered.set(callSid, answer);
    for (const oldest of this.#answered.keys()) {
      if (this.#answered.size <= MAX_ANSWERED_CALLS) break;
      this.#answered.delete(oldest);
    }
    return (await answer).twiml;
  }

  /** Whether this process has answered that call. */
  knows(callSid: string): boolean {
    return this.#answered.has(callSid);
  }

  #again(answer: Answer): string {
    if (answer.token !== null && !this.#options.tokens.isLive(answer.token)) {
      throw new VoiceError(
        'REQUEST_REPLAYED',
        'The stream of this call was already opened, or came too late.',
      );
    }
    return answer.twiml;
  }

  async #decide(callSid: string, params: WebhookParams, continues: CallerInfo['continues']): Promise<Answer> {
    const { logger } = this.#options;
    try {
      return await this.#admit(callSid, params, continues);
    } catch (error) {
      const code = isVoiceError(error) ? error.code : 'INTERNAL';
      // What went wrong inside is the operator's to read; a code is enough for a refusal.
      logger.warn({ code, ...(isVoiceError(error) ? {} : { err: error }) }, 'incoming call turned away');
      return { twiml: sayAndHangUp((isVoiceError(error) && error.spoken) || NO_WORDS), token: null };
    }
  }

  async #admit(callSid: string, params: WebhookParams, continues: CallerInfo['continues']): Promise<Answer> {
    const { config, desk, answers, capabilities, calls, clock, isDraining, logger } = this.#options;
    if (isDraining()) throw new VoiceError('SHUTTING_DOWN', 'The server takes no new calls.');
    const identity = callerIdentity(params, config.identity);
    if (!isAllowed(config.allowFrom, identity.id)) {
      throw new VoiceError('CALL_REFUSED', 'The caller is not in channels.realtime.allowFrom.');
    }
    const admitted = desk.admit({
      identity,
      route: calledRoute(params),
      carrier: capabilities.carrier,
      carrierCallId: callSid,
      leg: capabilities,
      ...(calls && { hangUp: () => calls.hangUp(callSid) }),
      ...(continues && { continues }),
    });
    const { callId } = await withDeadline(
      clock,
      ADMIT_TIMEOUT_MS,
      admitted,
      () => new VoiceError('MODEL_UNAVAILABLE', 'The model session did not open in time.'),
    );
    const answer = answers.first({ callId, carrierCallId: callSid });
    logger.info({ callId, carrier: 'twilio', identity: identity.strength }, 'incoming call admitted');
    return answer;
  }
}
