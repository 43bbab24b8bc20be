/**
 * What we do to a call at Twilio: end it, give it other instructions, ask whether it lives.
 * https://www.twilio.com/docs/voice/api/call-resource
 *
 * @module
 */

import { z } from 'zod';
import { type Clock, delay } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { neverArrived, type TwilioAnswer, type TwilioRest } from '../../twilio-rest.ts';

/** How long one request may take. */
export const CALL_REQUEST_TIMEOUT_MS = 5000;
/** Waits before what may be asked again is asked again. */
export const CALL_RETRY_MS: readonly number[] = [500, 1500];

/** Statuses that say that the call is over already, and Twilio's own numbers for it. */
const GONE = new Set([404, 409, 410, 422]);
const GONE_CODES = new Set([20404, 21220]);

const OVER = new Set(['completed', 'busy', 'failed', 'no-answer', 'canceled']);
const resource = z.object({ status: z.string().max(32) });

export class TwilioCalls {
  readonly #rest: TwilioRest;
  readonly #clock: Clock;
  /** Hang-ups under way: a second one waits for the first. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(rest: TwilioRest, clock: Clock) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /**
   * Ends the call. One that is over already is a success; what fails on the way is tried again, for ending a call
   * twice is ending it once.
   *
   * @throws VoiceError `CARRIER_FAILED`, `CARRIER_REFUSED`
   */
  hangUp(callSid: string): Promise<void> {
    const underWay = this.#ending.get(callSid);
    if (underWay) return underWay;
    const ending = this.#end(callSid).finally(() => this.#ending.delete(callSid));
    this.#ending.set(callSid, ending);
    return ending;
  }

  /**
   * Has the call go on with other instructions, at once. Not sent again when it may have arrived.
   *
   * @throws VoiceError `CARRIER_FAILED`: nobody knows whether it was taken; `CARRIER_REFUSED`: it was not
   */
  async update(callSid: string, twiml: string): Promise<void> {
    const form = new URLSearchParams({ Twiml: twiml });
    const answer = await this.#ask(() => this.#post(callSid, form), 'unsent');
    if (answer.status !== 200) throw refusal(answer);
  }

  /**
   * Places a call, which asks `url` for its instructions once it is answered. Not sent again when it may have arrived.
   *
   * @throws VoiceError `CARRIER_FAILED`: nobody knows whether it rings; `CARRIER_REFUSED`: it does not
   */
  async place(call: { to: string; from: string; url: string; timeoutS: number }): Promise<void> {
    const { to, from, url, timeoutS } = call;
    const form = new URLSearchParams({ To: to, From: from, Url: url, Timeout: String(timeoutS) });
    const post = () => this.#bounded((signal) => this.#rest.post('/Calls.json', form, signal));
    const answer = await this.#ask(post, 'unsent');
    if (answer.status !== 201) throw refusal(answer);
  }

  /**
   * Whether the carrier still has the call on the line.
   *
   * @throws VoiceError `CARRIER_FAILED`, `CARRIER_REFUSED`
   */
  async isLive(callSid: string): Promise<boolean> {
    const answer = await this.#ask(
      () => this.#bounded((signal) => this.#rest.get(pathOf(callSid), signal)),
      'always',
    );
    if (answer.status === 404) return false;
    const call = resource.safeParse(answer.json);
    if (answer.status !== 200 || !call.success) throw refusal(answer);
    return !OVER.has(call.data.status);
  }

  async #end(callSid: string): Promise<void> {
    const form = new URLSearchParams({ Status: 'completed' });
    const answer = await this.#ask(() => this.#post(callSid, form), 'always');
    const isGone = GONE.has(answer.status) || (answer.code !== null && GONE_CODES.has(answer.code));
    if (answer.status !== 200 && !isGone) throw refusal(answer);
  }

  /** @param again - what may be asked again: anything that failed, or only what never got there */
  async #ask(ask: () => Promise<TwilioAnswer>, again: 'always' | 'unsent'): Promise<TwilioAnswer> {
    for (const waitMs of CALL_RETRY_MS) {
      try {
        const answer = await ask();
        const mayHelp = answer.status === 429 || (answer.status >= 500 && again === 'always');
        if (!mayHelp) return answer;
      } catch (error) {
        if (again === 'unsent' && !neverArrived(error)) throw failure(error);
      }
      await delay(this.#clock, waitMs);
    }
    return ask().catch((error) => {
      throw failure(error);
    });
  }

  #post(callSid: string, form: URLSearchParams): Promise<TwilioAnswer> {
    return this.#bounded((signal) => this.#rest.post(pathOf(callSid), form, signal));
  }

  async #bounded(work: (signal: AbortSignal) => Promise<TwilioAnswer>): Promise<TwilioAnswer> {
    const abort = new AbortController();
    const timer = this.#clock.setTimeout(() => abort.abort(), CALL_REQUEST_TIMEOUT_MS);
    try {
      return await this.#clock.track(work(abort.signal));
    } finally {
      timer.clear();
    }
  }
}

function pathOf(callSid: string): string {
  return `/Calls/${encodeURIComponent(callSid)}.json`;
}

/** Only numbers of Twilio's are passed on: its words may quote a phone number. */
function refusal({ status, code }: TwilioAnswer): VoiceError {
  const which = code === null ? `status ${status}` : `status ${status}, error ${code}`;
  return status >= 500 || status === 429
    ? new VoiceError('CARRIER_FAILED', `Twilio could not do it now (${which}).`)
    : new VoiceError('CARRIER_REFUSED', `Twilio refused (${which}).`);
}

function failure(cause: unknown): VoiceError {
  return new VoiceError('CARRIER_FAILED', 'Twilio did not answer.', { cause });
}
