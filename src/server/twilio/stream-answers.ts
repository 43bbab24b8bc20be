/**
 * TwiML that connects a call to its stream, the first time and each time after. Every answer carries two secrets, used
 * once each: the token that opens the stream, and the name of the address that is asked when the stream is over.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { RealtimeConfig } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import { MAX_ANSWERED_CALLS } from '../limits.ts';
import type { PublicAddress } from '../public-address.ts';
import type { StreamGrant, StreamTokens } from '../stream-tokens.ts';
import { connectStream } from './twiml.ts';
import { socketUrl } from './urls.ts';

export interface Answer {
  readonly twiml: string;
  /** The stream token in it; `null` when the call was turned away. */
  readonly token: string | null;
}

interface Open {
  readonly callId: string;
  /** Of the address that the newest answer names. */
  readonly nonce: string;
  /** The address that was asked last, and what it was told. */
  readonly asked: { readonly nonce: string; readonly answer: Answer } | null;
}

export interface StreamAnswersOptions {
  readonly config: RealtimeConfig;
  readonly tokens: StreamTokens;
  readonly address: PublicAddress;
}

export class StreamAnswers {
  readonly #options: StreamAnswersOptions;
  /** By the carrier's id of the call, oldest first. */
  readonly #open = new Map<string, Open>();

  constructor(options: StreamAnswersOptions) {
    this.#options = options;
  }

  /** @throws VoiceError `CALL_LIMIT_REACHED` */
  first(grant: StreamGrant): Answer {
    return this.#answer(grant, null);
  }

  /**
   * Another stream for a call whose last one is over. Asked again, because our answer was lost, it is the same.
   *
   * @throws VoiceError `REQUEST_REPLAYED`: that address was used; `CALL_LIMIT_REACHED`
   */
  next(grant: StreamGrant, nonce: string): Answer {
    const open = this.#open.get(grant.carrierCallId);
    const { tokens } = this.#options;
    if (open?.callId === grant.callId) {
      if (open.nonce === nonce) return this.#answer(grant, nonce);
      const again = open.asked;
      if (again?.nonce === nonce && again.answer.token !== null && tokens.isLive(again.answer.token))
        return again.answer;
    }
    throw new VoiceError('REQUEST_REPLAYED', 'The call went on from there already.');
  }

  /** The address that is asked what is next; `null` when no answer of ours is with that call. */
  resumeUrl(carrierCallId: string): string | null {
    const open = this.#open.get(carrierCallId);
    return open ? this.#urlOf(open) : null;
  }

  #answer(grant: StreamGrant, askedBy: string | null): Answer {
    const { config, tokens, address } = this.#options;
    const token = tokens.issue(grant);
    if (token === null) throw new VoiceError('CALL_LIMIT_REACHED', 'Too many calls wait for their stream.');
    const open = { callId: grant.callId, nonce: randomBytes(16).toString('base64url') };
    const base = address.base;
    const twiml = connectStream({
      url: `${socketUrl(base)}/twilio/media/${token}`,
      token,
      resumeUrl: this.#urlOf(open),
      ...(config.server.publicUrl !== undefined && { statusUrl: `${base}/twilio/status` }),
    });
    const answer = { twiml, token };
    this.#open.delete(grant.carrierCallId);
    this.#open.set(grant.carrierCallId, {
      ...open,
      asked: askedBy === null ? null : { nonce: askedBy, answer },
    });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_ANSWERED_CALLS) break;
      this.#open.delete(oldest);
    }
    return answer;
  }

  #urlOf({ callId, nonce }: Pick<Open, 'callId' | 'nonce'>): string {
    return `${this.#options.address.base}/twilio/resume/${callId}/${nonce}`;
  }
}
