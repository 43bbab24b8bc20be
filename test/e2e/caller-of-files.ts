/** A gateway of two workers, a carrier that takes messages, and a caller who asks for a file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeG711 } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { type FullStore, type OutboxRow, openStore } from '../../src/store/index.ts';
import {
  call,
  type FakeCarrier,
  FakeMessaging,
  FakeModel,
  FakePhoneCall,
  tone,
} from '../../src/testing/index.ts';
import { slotOfSecret } from '../../src/worker-slot.ts';
import { offerOf } from '../server/rig.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';
import { childrenOf } from './worker-processes.ts';

export const PUBLIC = 'https://voice.example.com';
export const AUTH_TOKEN = 'messaging-token';
const DATABASE = '.nanobot/realtime/realtime.db';
export const CALLER = '+15550100';

/** What they ask for. */
export const PLAN = 'The plan: paint the fence on Saturday.';

/** Somebody whose number is attested calls, and says something. */
export async function callAndSpeak(url: string): Promise<{ phone: FakePhoneCall; stream: FakeCarrier }> {
  const phone = FakePhoneCall.dial(
    {
      webhookUrl: `${url}/twilio/voice`,
      publicUrl: PUBLIC,
      authToken: AUTH_TOKEN,
      from: CALLER,
      params: { StirVerstat: 'TN-Validation-Passed-A' },
    },
    { clock: realClock },
  );
  const stream = await phone.whenStream(1);
  void stream.speak(encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
  return { phone, stream };
}

export class CallerOfFiles {
  readonly carrier: FakeMessaging;
  readonly #model: FakeModel;
  readonly #home: TestHome;
  #gateway!: GatewayProcess;
  #url = '';
  #store: FullStore | null = null;

  private constructor(carrier: FakeMessaging, model: FakeModel, baseUrl: string) {
    this.carrier = carrier;
    this.#model = model;
    this.#home = new TestHome({
      server: { port: 0, publicUrl: PUBLIC },
      model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
      carriers: { twilio: { authToken: AUTH_TOKEN } },
      identity: { acceptAttestation: true },
      greeting: '',
      tools: { authorization: [{ tool: 'send_file' }] },
      media: {
        consent: [CALLER],
        messaging: { accountSid: carrier.accountSid, baseUrl: carrier.baseUrl, from: '+15550199' },
      },
    });
    writeFileSync(join(this.#home.workspace, 'plan.txt'), PLAN);
  }

  static async open(): Promise<CallerOfFiles> {
    const model = new FakeModel({ apiKey: 'k' }).onTurn(({ trigger, toolOutputs }) =>
      trigger === 'speech' && toolOutputs.length === 0 ? [call('send_file', { path: 'plan.txt' })] : [],
    );
    const carrier = await FakeMessaging.listen({ authToken: AUTH_TOKEN });
    const caller = new CallerOfFiles(carrier, model, await model.listen());
    caller.#gateway = new GatewayProcess(caller.#home, {}, ['--workers', '2']);
    caller.#url = await caller.#gateway.listening();
    return caller;
  }

  /**
   * Calls and asks.
   *
   * @returns the process of the worker that has the call
   */
  async ask(): Promise<number> {
    const { phone } = await callAndSpeak(this.#url);
    const slot = slotOfSecret(offerOf(phone.document).token, 43);
    return this.workers[slot ?? 0] ?? 0;
  }

  /** The processes of the workers, by their slot as long as none was replaced. */
  get workers(): number[] {
    return childrenOf(this.#gateway.child.pid ?? 0);
  }

  /** The one delivery there is, as the store has it. */
  async delivery(): Promise<OutboxRow | undefined> {
    this.#store ??= await openStore({ engine: 'sqlite', file: join(this.#home.folder, DATABASE) });
    return (await this.#store.listOutbox())[0];
  }

  /** What the link in a message leads to. */
  async opened(body: string): Promise<string> {
    const link = /https:\S+/.exec(body)?.[0].replace(PUBLIC, this.#url) ?? '';
    return (await fetch(link, { method: 'POST' })).text();
  }

  async close(): Promise<void> {
    this.#gateway?.child.kill('SIGKILL');
    await this.#store?.close();
    await this.#model.close();
    await this.carrier.close();
    this.#home.remove();
  }
}
