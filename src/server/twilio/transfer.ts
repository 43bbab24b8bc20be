/**
 * What is next when the other end of a transfer is done, or was never there.
 *
 * @module
 */

import type { WebhookParams } from './signature.ts';
import { hangUp, sayAndHangUp } from './twiml.ts';

const NOBODY = 'Sorry, nobody answered there. Please call again.';

/** A call that was transferred is no longer the agent's: it ends, with a word to who reached nobody. */
export function afterTransfer(params: WebhookParams): string {
  const status = params.get('DialCallStatus');
  return status === 'completed' || status === 'answered' ? hangUp() : sayAndHangUp(NOBODY);
}
