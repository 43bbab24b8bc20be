import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { CallerInfo } from '../../src/call/index.ts';
import type { Clock } from '../../src/clock.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import type { VoiceError } from '../../src/errors.ts';
import type { CallLeg } from '../../src/leg/index.ts';
import type { Logger } from '../../src/observe/index.ts';
import { createVoiceServer, type Desk, type ReadyCheck, type VoiceServer } from '../../src/server/index.ts';
import { sign } from '../../src/server/twilio/signature.ts';

export const AUTH_TOKEN = '12345';
export const ACCOUNT_SID = 'AC00000000000000000000000000000001';
export const CALL_SID = 'CA00000000000000000000000000000001';
export const STREAM_SID = 'MZ00000000000000000000000000000001';
export const CALLER = '+15550100';

/** A call desk that writes down what it was asked. */
export class DeskDouble implements Desk {
  readonly admitted: CallerInfo[] = [];
  readonly attached: { callId: string; leg: CallLeg }[] = [];
  readonly drained: number[] = [];
  refuseWith: Error | null = null;
  attachError: VoiceError | null = null;
  /** When set, `admit` waits for it. */
  gate: Promise<void> | null = null;
  drainGate: Promise<void> | null = null;
  onAttach: (leg: CallLeg) => void = () => {};

  get activeCalls(): number {
    return this.attached.length;
  }

  get pendingCalls(): number {
    return this.admitted.length - this.attached.length;
  }

  call(): undefined {
    return undefined;
  }

  async admit(info: CallerInfo): Promise<{ callId: string }> {
    this.admitted.push(info);
    if (this.gate) await this.gate;
    if (this.refuseWith) throw this.refuseWith;
    return { callId: `call-${info.carrierCallId}` };
  }

  attach(callId: string, leg: CallLeg): void {
    if (this.attachError) throw this.attachError;
    this.attached.push({ callId, leg });
    this.onAttach(leg);
  }

  readonly live = new Set<string>();
  readonly past = new Map<string, { sessionKey: string }>();
  readonly carrierEndedCalls: string[] = [];

  isLive(callId: string): boolean {
    return this.live.has(callId);
  }

  async brokeOff(callId: string): Promise<{ sessionKey: string } | null> {
    return this.past.get(callId) ?? null;
  }

  carrierEnded(_carrier: string, carrierCallId: string): void {
    this.carrierEndedCalls.push(carrierCallId);
  }

  async drain(timeoutMs: number): Promise<void> {
    this.drained.push(timeoutMs);
    if (this.drainGate) await this.drainGate;
  }
}

export interface Rig {
  readonly desk: DeskDouble;
  readonly server: VoiceServer;
  readonly url: string;
  readonly wsUrl: string;
  readonly metricsUrl: string | null;
}

export interface RigOptions {
  readonly config?: RealtimeConfigInput;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly checks?: Record<string, ReadyCheck>;
  readonly env?: Record<string, string>;
}

const open: VoiceServer[] = [];

/** A server on a free loopback port, with Twilio's auth token unless the config says otherwise. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const { config = {}, clock, logger, checks, env = {} } = options;
  const desk = new DeskDouble();
  const server = createVoiceServer({
    config: realtimeConfigSchema.parse({
      carriers: { twilio: { authToken: AUTH_TOKEN } },
      ...config,
      server: { port: 0, ...config.server },
    }),
    desk,
    env,
    ...(clock ? { clock } : {}),
    ...(logger ? { logger } : {}),
    ...(checks ? { checks } : {}),
  });
  open.push(server);
  const { url } = await server.listen();
  return { desk, server, url, wsUrl: url.replace('http', 'ws'), metricsUrl: server.metricsUrl };
}

/** For `afterEach`. */
export async function closeRigs(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close(0)));
}

export function callFields(extra: Record<string, string> = {}): Record<string, string> {
  return {
    CallSid: CALL_SID,
    AccountSid: ACCOUNT_SID,
    From: CALLER,
    To: '+15550199',
    CallStatus: 'ringing',
    Direction: 'inbound',
    ...extra,
  };
}

export interface WebhookOptions {
  /** The address that is signed; the one that is requested when left out. */
  readonly signedUrl?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** Posts a form as Twilio does, signed. */
export function postSigned(
  url: string,
  fields: Record<string, string>,
  { signedUrl = url, token = AUTH_TOKEN, headers = {} }: WebhookOptions = {},
): Promise<Response> {
  const form = new URLSearchParams(fields);
  const signature = sign(signedUrl, form, token);
  return fetch(url, { method: 'POST', body: form, headers: { 'x-twilio-signature': signature, ...headers } });
}

export interface StreamOffer {
  readonly url: string;
  readonly token: string;
}

/** Places a call and gives back the stream that the TwiML offers. */
export async function ring(rig: Rig, callSid = CALL_SID): Promise<StreamOffer> {
  const answer = await postSigned(`${rig.url}/twilio/voice`, callFields({ CallSid: callSid }));
  return offerOf(await answer.text());
}

export function offerOf(twiml: string): StreamOffer {
  const url = /<Stream url="([^"]+)"/.exec(twiml)?.[1];
  const token = /<Parameter name="token" value="([^"]+)"/.exec(twiml)?.[1];
  if (!url || !token) throw new Error(`No stream in ${twiml}`);
  return { url, token };
}

export function startMessage(customParameters: Record<string, string> = {}, callSid = CALL_SID): string {
  return JSON.stringify({
    event: 'start',
    sequenceNumber: '1',
    streamSid: STREAM_SID,
    start: {
      streamSid: STREAM_SID,
      accountSid: ACCOUNT_SID,
      callSid,
      tracks: ['inbound'],
      customParameters,
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    },
  });
}

export const CONNECTED = JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' });

export async function openSocket(url: string): Promise<WebSocket> {
  const ws = new WebSocket(url);
  await once(ws, 'open');
  return ws;
}

/** The HTTP status with which an upgrade is refused. */
export function refusedStatus(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url);
    ws.on('unexpected-response', (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    ws.on('open', () => reject(new Error('The upgrade was accepted.')));
    ws.on('error', reject);
  });
}

export async function closeCode(ws: WebSocket): Promise<number> {
  const [code] = (await once(ws, 'close')) as [number];
  return code;
}

/** Resolves once the condition holds; what it waits for arrives over a real socket. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000; turn += 1) {
    if (condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`Never happened: ${what}`);
}
