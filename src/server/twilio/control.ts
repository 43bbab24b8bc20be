/**
 * One call, as its leg can have it changed at Twilio.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';
import type { TwilioControl } from '../../leg/twilio/index.ts';
import type { PublicAddress } from '../public-address.ts';
import type { TwilioCalls } from './calls.ts';
import type { StreamAnswers } from './stream-answers.ts';
import { dial, playDigits } from './twiml.ts';

/** E.164, which no emergency number is; or a SIP address. */
const TARGET = /^(?:\+[1-9]\d{6,14}|sips?:[^\s<>"']{1,190})$/;

export interface ControlParts {
  readonly calls: TwilioCalls;
  readonly answers: StreamAnswers;
  readonly address: PublicAddress;
}

export function controlOf(callSid: string, { calls, answers, address }: ControlParts): TwilioControl {
  return {
    hangUp: () => calls.hangUp(callSid),
    async dial(target) {
      if (!TARGET.test(target))
        throw new VoiceError(
          'LEG_UNSUPPORTED',
          'A target of channels.realtime.transfers is no number such as +15550100, and no SIP address.',
        );
      await calls.update(callSid, dial(target, `${address.base}/twilio/after-transfer`));
    },
    async playDigits(digits) {
      const resumeUrl = answers.resumeUrl(callSid);
      if (resumeUrl === null) throw new VoiceError('LEG_UNSUPPORTED', 'The call could not come back.');
      await calls.update(callSid, playDigits(digits, resumeUrl));
    },
  };
}
