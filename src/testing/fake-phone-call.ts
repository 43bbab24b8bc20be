/**
 * `FakePhoneCall`: a call at Twilio, which does what its TwiML says, verb by verb: streams, redirects, transfers, keys.
 * Its instructions can be changed from outside while it goes on, as the REST API does.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import { callFields, type DialTarget, localStream, postWebhook, signatureHeader } from './carrier/dial.ts';
import { findElement, parseTwiml, type TwimlElement } from './carrier/twiml.ts';
import { FakeCarrier } from './fake-carrier.ts';

/** How such a call reaches the server. */
export interface PhoneWires {
  /** Posts a webhook to an address that TwiML named. */
  post(
    url: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly text: string }>;
  /** Opens the stream that TwiML named. Rejects when it can't be opened. */
  stream(
    url: string,
    options: { readonly streamSid: string; readonly customParameters: Readonly<Record<string, string>> },
  ): Promise<FakeCarrier>;
}

export interface FakePhoneCallOptions {
  readonly clock: Clock;
  readonly callSid?: string;
  readonly accountSid?: string;
  readonly from?: string;
  readonly to?: string;
  /** Further fields of each webhook, e.g. `StirVerstat`. */
  readonly params?: Readonly<Record<string, string>>;
  /** How a transfer ends. @defaultValue `completed` */
  readonly dialOutcome?: 'completed' | 'busy' | 'no-answer' | 'failed';
}

/** How long one key is heard. */
const KEY_MS = 100;
const PAUSE_MS = 500;
/** How long the other end of a transfer stays. */
const TRANSFER_MS = 1000;

export class FakePhoneCall {
  readonly callSid: string;
  readonly accountSid: string;
  status: 'ringing' | 'in-progress' | 'completed' = 'ringing';
  /** Every stream so far; the last one is the newest. */
  readonly streams: FakeCarrier[] = [];
  readonly said: string[] = [];
  /** Where it was transferred to. */
  readonly dialled: string[] = [];
  /** Keys that were played, as TwiML named them. */
  readonly keys: string[] = [];
  /** The TwiML that it follows. */
  document = '';
  /** Verbs in the order in which they began. */
  readonly verbs: string[] = [];
  /** What Twilio tells the owner of the number in its error log. */
  readonly errors: string[] = [];
  readonly ended: Promise<void>;
  readonly #wires: PhoneWires;
  readonly #options: FakePhoneCallOptions;
  #settle: () => void = () => {};
  #held: Promise<void> = Promise.resolve();
  /** Grows with every change of the instructions; the ones before do nothing any more. */
  #generation = 0;
  #onStream: (() => void)[] = [];

  constructor(wires: PhoneWires, options: FakePhoneCallOptions) {
    this.#wires = wires;
    this.#options = options;
    this.callSid = options.callSid ?? `CA${'0'.repeat(31)}1`;
    this.accountSid = options.accountSid ?? `AC${'0'.repeat(31)}1`;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** A call to a running server's number. */
  static dial(target: DialTarget, options: FakePhoneCallOptions): FakePhoneCall {
    const { clock, callSid, accountSid } = options;
    const call: FakePhoneCall = new FakePhoneCall(
      {
        post: (url, fields) => postWebhook(target, url, fields),
        stream: (url, stream) =>
          FakeCarrier.connect(localStream(url, target), {
            clock,
            ...(callSid !== undefined && { callSid }),
            ...(accountSid !== undefined && { accountSid }),
            ...stream,
            headers: signatureHeader(target.authToken, url, {}),
          }),
      },
      {
        ...options,
        ...(target.from !== undefined && { from: target.from }),
        ...(target.to !== undefined && { to: target.to }),
        ...(target.params !== undefined && { params: target.params }),
      },
    );
    call.ring(target.webhookUrl);
    return call;
  }

  /** The number is called: its webhook says what happens. */
  ring(webhookUrl: string): void {
    void this.#go(() => this.#ask(webhookUrl, {}));
  }

  /** The stream that is open; `null` between two of them. */
  get stream(): FakeCarrier | null {
    const last = this.streams.at(-1);
    return last && !last.isClosed ? last : null;
  }

  /** Resolves with the n-th stream (from 1), once there is one, or with the end of the call. */
  async whenStream(n: number): Promise<FakeCarrier> {
    while (this.streams.length < n && this.status !== 'completed')
      await new Promise<void>((resolve) => this.#onStream.push(resolve));
    const stream = this.streams[n - 1];
    if (!stream) throw new Error(`The call ended before stream ${n}: ${this.errors.join('; ')}`);
    return stream;
  }

  /** Webhooks go out no earlier than this: a server that is just being started again. */
  holdWebhooks(until: Promise<void>): void {
    this.#held = until;
  }

  /** The caller hangs up. */
  hangup(): void {
    this.#end();
  }

  /** Other instructions, at once: an open stream gets `stop`. @returns Twilio's error when the call is over */
  update(twiml: string): 21220 | null {
    if (this.status === 'completed') return 21220;
    const open = this.stream;
    void this.#go(async () => twiml);
    open?.hangup();
    return null;
  }

  /** Ended from outside. @returns Twilio's error when it is over */
  complete(): 21220 | null {
    if (this.status === 'completed') return 21220;
    this.#end();
    return null;
  }

  async #go(document: () => Promise<string | null>): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    const isOld = () => generation !== this.#generation || this.status === 'completed';
    let next: string | null = await document();
    try {
      while (next !== null && !isOld()) {
        this.document = next;
        next = await this.#run(parseTwiml(next), isOld);
      }
    } catch (error) {
      this.errors.push(String(error));
    }
    if (!isOld()) this.#end();
  }

  /** @returns the next document; `null` when there is nothing more to do */
  async #run(verbs: readonly TwimlElement[], isOld: () => boolean): Promise<string | null> {
    this.status = 'in-progress';
    for (const verb of verbs) {
      if (isOld()) return null;
      this.verbs.push(verb.name);
      switch (verb.name) {
        case 'Connect':
          await this.#connect(verb);
          break;
        case 'Redirect':
          return this.#ask(verb.text, {});
        case 'Say':
          this.said.push(verb.text);
          break;
        case 'Play':
          await this.#play(verb.attributes.digits ?? '');
          break;
        case 'Dial': {
          this.dialled.push(verb.children[0]?.text ?? '');
          await this.#wait(TRANSFER_MS);
          const { action } = verb.attributes;
          if (isOld()) return null;
          if (action !== undefined)
            return this.#ask(action, { DialCallStatus: this.#options.dialOutcome ?? 'completed' });
          break;
        }
        case 'Hangup':
          return null;
        default:
          throw new Error(`TwiML 12200: <${verb.name}> is no verb`);
      }
    }
    return null;
  }

  async #connect(verb: TwimlElement): Promise<void> {
    const stream = findElement([verb], 'Stream');
    const url = stream?.attributes.url ?? '';
    if (!stream || !/^wss?:/.test(url)) throw new Error('TwiML 31910: a stream without its address');
    const customParameters = Object.fromEntries(
      stream.children.map(({ attributes }) => [attributes.name ?? '', attributes.value ?? '']),
    );
    const streamSid = `MZ${String(this.streams.length + 1).padStart(32, '0')}`;
    let carrier: FakeCarrier;
    try {
      carrier = await this.#wires.stream(url, { streamSid, customParameters });
    } catch (error) {
      // Twilio goes on with the next verb.
      this.errors.push(`31920: ${String(error)}`);
      return;
    }
    this.streams.push(carrier);
    for (const resolve of this.#onStream.splice(0)) resolve();
    carrier.start();
    await carrier.whenClosed();
  }

  async #ask(url: string, more: Readonly<Record<string, string>>): Promise<string | null> {
    const fields = {
      ...callFields(this.#options, this),
      CallStatus: this.status,
      ...this.#options.params,
      ...more,
    };
    try {
      await this.#held;
      const { status, text } = await this.#wires.post(url, fields);
      if (status === 200) return text;
      this.errors.push(`11200: status ${status}`);
    } catch (error) {
      this.errors.push(`11200: ${String(error)}`);
    }
    return null;
  }

  async #play(digits: string): Promise<void> {
    if (!/^[0-9*#wA-D]{1,64}$/.test(digits)) throw new Error('TwiML 13213: keys that there are not');
    this.keys.push(digits);
    for (const key of digits) await this.#wait(key === 'w' ? PAUSE_MS : KEY_MS);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.setTimeout(resolve, ms));
  }

  #end(): void {
    if (this.status === 'completed') return;
    this.status = 'completed';
    this.stream?.hangup();
    for (const resolve of this.#onStream.splice(0)) resolve();
    this.#settle();
  }
}
