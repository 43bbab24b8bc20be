/**
 * The gate of every Twilio webhook: body read with a cap, signature checked, fails closed.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { readBody } from '../body.ts';
import type { TwilioSettings } from './settings.ts';
import { type SignatureFailure, toParams, verifySignature, type WebhookParams } from './signature.ts';
import { signedUrlCandidates } from './urls.ts';

export interface VerifiedWebhook {
  /** What the signature vouches for. */
  readonly params: WebhookParams;
  /** Fields that Twilio sent and did not sign; they are not in `params`. */
  readonly unsigned: readonly string[];
}

/**
 * Reads and verifies one webhook.
 *
 * @param target - path and query as they arrived, without the prefix that `publicUrl` has
 * @throws VoiceError `SIGNATURE_NOT_CONFIGURED`, `SIGNATURE_INVALID`, `REQUEST_*`
 */
export async function verifyWebhook(
  request: Request,
  target: string,
  settings: TwilioSettings,
  publicBase: string,
  clock: Clock,
): Promise<VerifiedWebhook> {
  const signature = request.headers.get('x-twilio-signature');
  const verdictOn = (body: Uint8Array) =>
    verifySignature(
      {
        method: request.method,
        urls: signedUrlCandidates(publicBase, target),
        contentType: request.headers.get('content-type'),
        body,
        signature,
        settings: request.headers.get('x-twilio-webhooks-signature-settings'),
      },
      settings.keys,
    );

  if (!settings.hasKey && !settings.skipSignature) throw failure('no_key');
  // Nothing of a stranger's is read: without a signature there is no need for the body.
  if (!signature && !settings.skipSignature) throw failure('missing');
  const body = request.method === 'GET' ? new Uint8Array() : await readBody(request, clock);
  if (settings.skipSignature) return { params: unverifiedParams(request, target, body), unsigned: [] };

  const verdict = verdictOn(body);
  if (!verdict.ok) throw failure(verdict.reason);
  const account = verdict.params.get('AccountSid');
  if (settings.accountSid !== undefined && account !== settings.accountSid) {
    throw new VoiceError('SIGNATURE_INVALID', 'The webhook is of another Twilio account.');
  }
  return verdict;
}

function unverifiedParams(request: Request, target: string, body: Uint8Array): WebhookParams {
  if (request.method === 'GET') {
    return toParams(new URL(target, 'http://localhost').searchParams);
  }
  return toParams(new URLSearchParams(Buffer.from(body).toString('utf8')));
}

function failure(reason: SignatureFailure): VoiceError {
  switch (reason) {
    case 'no_key':
      return new VoiceError(
        'SIGNATURE_NOT_CONFIGURED',
        'There is no key to check this webhook with: set channels.realtime.carriers.twilio.authToken, or ' +
          'TWILIO_AUTH_TOKEN (or the shared key that the webhook names).',
      );
    case 'missing':
      return new VoiceError('SIGNATURE_INVALID', 'The webhook has no X-Twilio-Signature.');
    case 'settings_invalid':
      return new VoiceError('SIGNATURE_INVALID', 'The webhook names a signature algorithm that is unknown.');
    case 'body_hash':
      return new VoiceError('SIGNATURE_INVALID', "The body is not the one of the address's bodySHA256.");
    case 'body_type':
      return new VoiceError('SIGNATURE_INVALID', 'The body is of a type that Twilio does not sign.');
    case 'mismatch':
      return new VoiceError(
        'SIGNATURE_INVALID',
        'The signature does not fit: is server.publicUrl the address in the Twilio console, and the auth ' +
          'token that of the same account?',
      );
  }
}
