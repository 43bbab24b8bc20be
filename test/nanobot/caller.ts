/** Calls against the real nanobot: a recorded voice, Twilio's messages, and a realtime model that does what it is told. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '../../src/clock.ts';
import { call, FakeCarrier, FakeModel, say } from '../../src/testing/index.ts';
import { type OutsideCall, placeOutsideCall } from '../server/outside-caller.ts';
import { type NanobotHome, ROOT } from './nanobot.ts';

export const AUTH_TOKEN = 'nanobot-e2e-auth-token';
export const API_KEY = 'nanobot-e2e-api-key';
/** What the realtime model understands of the recording. */
export const SAID = 'what does my note say';
/** What it answers once its calls are done. */
export const ANSWER = 'It is all done.';

/** A call of a tool, as the model makes it. */
export interface Step {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** The first seconds of a recording at 8 kHz, µ-law, without its header. */
function recording(seconds: number): Buffer {
  const wav = readFileSync(join(ROOT, 'fixtures/synthesised/not-a-command-8k-mulaw.wav'));
  const start = wav.indexOf('data', 12, 'latin1') + 8;
  return wav.subarray(start, start + 8000 * seconds);
}

/** A call that goes on until it is hung up. */
export function dial(
  url: string,
  callSid: string,
  more: Partial<Omit<Parameters<typeof FakeCarrier.dial>[0], 'authToken'>> & {
    readonly accountSid?: string;
  } = {},
): ReturnType<typeof FakeCarrier.dial> {
  const { accountSid, ...rest } = more;
  const target = { webhookUrl: `${url}/twilio/voice`, authToken: AUTH_TOKEN, ...rest };
  return FakeCarrier.dial(target, { clock: realClock, callSid, ...(accountSid && { accountSid }) });
}

/** The caller's question, as µ-law at 8 kHz. */
export const question = (): Uint8Array => recording(1.2);

/** A realtime model that makes the calls of each phone call one after another, and then answers. */
export class VoiceModel {
  readonly fake = new FakeModel({ apiKey: API_KEY });
  #steps: Step[] = [];

  constructor() {
    this.fake.onTurn(({ trigger, toolOutputs }) => {
      if (trigger !== 'speech' && toolOutputs.length === 0) return [];
      const step = this.#steps.shift();
      return step ? [call(step.name, step.args)] : [say(ANSWER, { durationMs: 500 })];
    });
  }

  /** What it does once it has heard the caller's next question. */
  willDo(steps: readonly Step[]): void {
    this.#steps = [...steps];
    this.fake.willHear(SAID);
  }

  /** One phone call, in which the model makes these calls. */
  async place(
    home: NanobotHome,
    url: string,
    callSid: string,
    steps: readonly Step[],
    frames: number,
  ): Promise<{ readonly call: OutsideCall; readonly outputs: string[] }> {
    const audioFile = join(home.folder, 'caller.ulaw');
    writeFileSync(audioFile, recording(1.2));
    this.willDo(steps);
    const placed = await placeOutsideCall({ url, authToken: AUTH_TOKEN, audioFile, frames, callSid });
    const outputs = this.fake.session
      .receivedOf('conversation.item.create')
      .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));
    return { call: placed, outputs };
  }

  /** Names of the tools that the newest session was given. */
  get toolNames(): string[] {
    const [update] = this.fake.session.receivedOf('session.update');
    return (update?.session.tools ?? []).flatMap((tool) => ('name' in tool ? [String(tool.name)] : []));
  }
}

/** The section of a channel that answers such calls. */
export function realtimeSection(modelUrl: string, more: Record<string, unknown>): Record<string, unknown> {
  return {
    enabled: true,
    package: ROOT,
    server: { port: 0 },
    model: { provider: 'openai-compatible', baseUrl: modelUrl, apiKey: API_KEY },
    carriers: { twilio: { authToken: AUTH_TOKEN } },
    greeting: '',
    ...more,
  };
}
