/**
 * `channels.realtime.carriers.twilio`, made ready for use.
 *
 * @module
 */

import { type RealtimeConfig, TWILIO_BASE_URL } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import { TwilioRest, twilioAccount } from '../../twilio-rest.ts';
import type { TwilioKeys } from './signature.ts';

export interface TwilioSettings {
  readonly keys: TwilioKeys;
  /** Whether there is anything to check a signature with. */
  readonly hasKey: boolean;
  readonly accountSid: string | undefined;
  /** Webhooks are believed unsigned: on loopback only, to try things. */
  readonly skipSignature: boolean;
}

/**
 * @param env - where `TWILIO_AUTH_TOKEN` is looked up
 * @throws VoiceError `CONFIG_INVALID` when signatures would be skipped where strangers can reach us
 */
export function twilioSettings(
  config: RealtimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): TwilioSettings {
  const twilio = config.carriers.twilio;
  const keys: TwilioKeys = {
    authToken: twilio?.authToken ?? (env.TWILIO_AUTH_TOKEN || undefined),
    sharedKeys: twilio?.sharedKeys ?? {},
  };
  const skipSignature = twilio?.unsafeSkipSignature ?? false;
  if (skipSignature && (config.server.publicUrl !== undefined || !isLoopback(config.server.host))) {
    throw new VoiceError(
      'CONFIG_INVALID',
      'channels.realtime.carriers.twilio.unsafeSkipSignature: true is refused, because others can reach this ' +
        'server: server.publicUrl is set or server.host is not 127.0.0.1. Set the auth token instead.',
    );
  }
  return {
    keys,
    hasKey: keys.authToken !== undefined || Object.keys(keys.sharedKeys).length > 0,
    accountSid: twilio?.accountSid,
    skipSignature,
  };
}

/**
 * Twilio's REST API with the account's credentials, of the config or the environment; `null` when they aren't there.
 *
 * @param env - where `TWILIO_ACCOUNT_SID`, `TWILIO_AUTH_TOKEN`, `TWILIO_API_KEY` and `TWILIO_API_SECRET` are looked up
 */
export function twilioRest(
  config: RealtimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): TwilioRest | null {
  const { twilio } = config.carriers;
  const account = twilioAccount({
    accountSid: twilio?.accountSid ?? env.TWILIO_ACCOUNT_SID,
    authToken: twilio?.authToken ?? env.TWILIO_AUTH_TOKEN,
    apiKey: {
      sid: twilio?.apiKey.sid ?? env.TWILIO_API_KEY,
      secret: twilio?.apiKey.secret ?? env.TWILIO_API_SECRET,
    },
  });
  return account && new TwilioRest({ ...account, baseUrl: twilio?.baseUrl ?? TWILIO_BASE_URL });
}

/** An address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
