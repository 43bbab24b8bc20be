/**
 * `channels.realtime.carriers.twilio`, made ready for use.
 *
 * @module
 */

import type { RealtimeConfig } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
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

/** An address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
