/**
 * A phone call through all of the server but its sockets: the webhooks, the media socket, the desk, the model's adapter,
 * and a call at Twilio that does what its TwiML says, on one clock.
 */

import { realtimeConfigSchema } from '../../src/config.ts';
import { isVoiceError } from '../../src/errors.ts';
import { twilioCapabilities } from '../../src/leg/twilio/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { PublicAddress } from '../../src/server/public-address.ts';
import { SocketCaps } from '../../src/server/socket-caps.ts';
import { StreamTokens } from '../../src/server/stream-tokens.ts';
import { TwilioCalls } from '../../src/server/twilio/calls.ts';
import { controlOf } from '../../src/server/twilio/control.ts';
import { MediaSockets } from '../../src/server/twilio/media.ts';
import { resume } from '../../src/server/twilio/resume.ts';
import { onStatus } from '../../src/server/twilio/status.ts';
import { StreamAnswers } from '../../src/server/twilio/stream-answers.ts';
import { afterTransfer } from '../../src/server/twilio/transfer.ts';
import { VoiceWebhook } from '../../src/server/twilio/voice.ts';
import {
  FakeCallControl,
  FakeCarrier,
  FakePhoneCall,
  type FakePhoneCallOptions,
  type PhoneWires,
} from '../../src/testing/index.ts';
import { TwilioRest } from '../../src/twilio-rest.ts';
import { type Exchange, type LineOptions, openExchange } from './line.ts';

const BASE = 'https://voice.example.com';

export interface Phone extends Exchange {
  readonly api: FakeCallControl;
  readonly wires: PhoneWires;
  /** Streams can't be opened while this is set. */
  blocked: boolean;
  /** Calls in, and waits for the stream. */
  ring(options?: Partial<FakePhoneCallOptions>): Promise<FakePhoneCall>;
  status(fields: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

/** @param controls - whether the account's credentials are there */
export async function openPhone(options: LineOptions & { readonly controls?: boolean } = {}): Promise<Phone> {
  const exchange = openExchange(options);
  const { clock, desk } = exchange;
  const config = realtimeConfigSchema.parse({
    greeting: '',
    ...options.config,
    server: { publicUrl: BASE },
  });
  const api = await FakeCallControl.listen();
  const rest = new TwilioRest({
    accountSid: api.accountSid,
    user: api.accountSid,
    secret: api.secret,
    baseUrl: api.baseUrl,
  });
  const calls = options.controls === false ? null : new TwilioCalls(rest, clock);
  const address = new PublicAddress(BASE);
  const tokens = new StreamTokens(clock);
  const answers = new StreamAnswers({ config, tokens, address });
  const capabilities = twilioCapabilities({ control: calls !== null, resumes: true });
  const logger = silentLogger;
  const media = new MediaSockets({
    config,
    desk,
    tokens,
    caps: new SocketCaps(),
    clock,
    logger,
    accountSid: undefined,
    capabilities,
    control: (callSid) => calls && controlOf(callSid, { calls, answers, address }),
  });
  const voice = new VoiceWebhook({
    config,
    desk,
    tokens,
    answers,
    capabilities,
    calls,
    clock,
    logger,
    isDraining: () => desk.isDraining,
  });

  const answer = async (path: string, params: ReadonlyMap<string, string>): Promise<string> => {
    const [, callId, nonce] = /^\/twilio\/resume\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (callId && nonce) return resume(params, { callId, nonce }, { desk, answers, voice, calls, logger });
    if (path === '/twilio/after-transfer') return afterTransfer(params);
    return voice.answer(params);
  };
  const phone = { blocked: false };
  const wires: PhoneWires = {
    async post(url, fields) {
      try {
        return { status: 200, text: await answer(new URL(url).pathname, new Map(Object.entries(fields))) };
      } catch (error) {
        if (!isVoiceError(error)) throw error;
        return { status: error.httpStatus, text: error.code };
      }
    },
    async stream(url, { streamSid, customParameters }) {
      if (phone.blocked) throw new Error('no way through');
      const token = /\/twilio\/media\/([\w-]+)$/.exec(new URL(url).pathname)?.[1] ?? null;
      const upgrade = media.admit(token, '127.0.0.1');
      const callSid = ringing.callSid;
      const { carrier, socket } = FakeCarrier.inMemory({ clock, streamSid, callSid, customParameters });
      media.accept(socket, upgrade);
      return carrier;
    },
  };
  let ringing: FakePhoneCall;
  return Object.assign(phone, exchange, {
    api,
    wires,
    async ring(more: Partial<FakePhoneCallOptions> = {}) {
      ringing = new FakePhoneCall(wires, { clock, ...more });
      api.add(ringing);
      ringing.ring(`${BASE}/twilio/voice`);
      await clock.drive(ringing.whenStream(1));
      await clock.advance(60);
      return ringing;
    },
    status: (fields: Readonly<Record<string, string>>) =>
      onStatus(new Map(Object.entries(fields)), { tokens, media, logger }),
    async close() {
      await rest.close();
      await api.close();
    },
  });
}
