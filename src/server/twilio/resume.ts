/**
 * What a call does when its stream is over: Twilio asks, at an address that its last instructions named.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';
import type { Logger } from '../../observe/index.ts';
import type { WorkerSlot } from '../../worker-slot.ts';
import type { Desk } from '../desk.ts';
import type { TwilioCalls } from './calls.ts';
import type { WebhookParams } from './signature.ts';
import type { StreamAnswers } from './stream-answers.ts';
import { hangUp, sayAndHangUp } from './twiml.ts';
import type { VoiceWebhook } from './voice.ts';

/** Said to a caller whose call is lost for good. */
const LOST = 'Sorry, something went wrong on our side. Please call again.';

export interface ResumeParts {
  readonly desk: Desk;
  readonly answers: StreamAnswers;
  readonly voice: VoiceWebhook;
  /** `null` without the account's credentials. */
  readonly calls: Pick<TwilioCalls, 'isLive'> | null;
  readonly logger: Logger;
  /** One worker of several: the one that had the call may have died before it wrote anything down. */
  readonly slot?: Pick<WorkerSlot, 'index'> | null;
}

/**
 * The TwiML for a verified webhook: another stream for a call that is not over, and else its end. A call that a process
 * before this one was serving goes on as a new one with the same past.
 *
 * @param from - the two last parts of the address
 * @throws VoiceError `REQUEST_INVALID`, `REQUEST_REPLAYED`, `CALL_LIMIT_REACHED`
 */
export async function resume(
  params: WebhookParams,
  from: { readonly callId: string; readonly nonce: string },
  { desk, answers, voice, calls, logger, slot = null }: ResumeParts,
): Promise<string> {
  const carrierCallId = params.get('CallSid');
  if (carrierCallId === undefined) throw new VoiceError('REQUEST_INVALID', 'The webhook has no CallSid.');
  const { callId, nonce } = from;
  if (desk.isLive(callId)) {
    const { twiml } = answers.next({ callId, carrierCallId }, nonce);
    logger.info({ callId }, 'the stream of a call ended; another one was offered');
    return twiml;
  }
  const past = await desk.brokeOff(callId);
  if (voice.knows(carrierCallId)) return hangUp();
  if (past === null) return slot ? sayAndHangUp(LOST) : hangUp();
  // What this process has not seen itself is asked of the carrier; one that does not answer is believed by its webhook.
  const isThere = calls === null || (await calls.isLive(carrierCallId).catch(() => true));
  if (!isThere) return hangUp();
  logger.info({ callId }, 'a call of before the restart goes on');
  return voice.answer(params, past);
}
