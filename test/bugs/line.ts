/**
 * The wiring that tests of a whole call share: a fake caller, Twilio's leg, the call desk, OpenAI's adapter and a fake
 * model, on one clock that moves by hand. Only the two ends are doubles.
 */

import { pino } from 'pino';
import { encodeG711, loadAudio } from '../../src/audio/index.ts';
import { type Call, CallDesk, type CallParts, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import type { TextSocket } from '../../src/leg/index.ts';
import { acceptTwilioStream, TWILIO_CAPABILITIES, TwilioLeg } from '../../src/leg/twilio/index.ts';
import { createOpenAiModelFactory, type OpenModelSocket } from '../../src/model/openai/index.ts';
import {
  FakeCarrier,
  FakeClock,
  FakeGateway,
  FakeModel,
  type FakeModelOptions,
  type FakeTool,
  type TurnHandler,
  tone,
} from '../../src/testing/index.ts';
import { MemoryStore, testSynthesiser } from '../call/harness.ts';

await loadAudio();

/** Something that the fake model takes for speech: 900 ms of a tone. */
export const SPEECH = speech(900);

export function speech(ms: number): Uint8Array {
  return encodeG711(tone(ms, 300, 8000).samples, 'pcmu');
}

export interface LineOptions {
  readonly config?: RealtimeConfigInput;
  readonly model?: Omit<FakeModelOptions, 'clock'>;
  readonly tools?: Readonly<Record<string, FakeTool | string>>;
  /** What the model does; without it every turn is answered with "Okay." */
  readonly turns?: TurnHandler;
  readonly hears?: readonly (string | null)[];
  /** Something between our client and the fake model. */
  readonly modelWire?: (open: OpenModelSocket) => OpenModelSocket;
  /** Something between our leg and the fake carrier. */
  readonly carrierWire?: (socket: TextSocket) => TextSocket;
  /** Whether the model's server cancels its response when the caller speaks. @defaultValue true */
  readonly interruptResponse?: boolean;
  readonly parts?: Partial<CallParts>;
  /** A clock of the test's own. */
  readonly clock?: FakeClock;
  /** `false`: the caller is not on the line yet. */
  readonly start?: boolean;
}

/** How a call ended, as its last log line tells. */
export interface EndedCall {
  readonly callId: string;
  readonly reason: string;
  readonly durationMs: number;
  readonly counters: Readonly<Record<string, number>>;
}

/** A desk with a model behind it; calls are dialled in. */
export interface Exchange {
  readonly clock: FakeClock;
  readonly fake: FakeModel;
  readonly gateway: FakeGateway;
  readonly store: MemoryStore;
  readonly desk: CallDesk;
  /** Legs of all calls so far. */
  readonly legs: TwilioLeg[];
  /** Every line of the log, as JSON text. */
  readonly logs: string[];
  readonly ended: EndedCall[];
  /** A caller whose stream starts with `carrier.start()`. */
  dial(carrierCallId?: string): Promise<{ carrier: FakeCarrier; callId: string; call: Call }>;
}

export function openExchange(options: LineOptions = {}): Exchange {
  const clock = options.clock ?? new FakeClock();
  const config = realtimeConfigSchema.parse({ greeting: '', ...options.config });
  const fake = new FakeModel({ clock, ...options.model });
  if (options.turns) fake.onTurn(options.turns);
  if (options.hears) fake.willHear(...options.hears);
  const gateway = new FakeGateway({ clock, tools: options.tools ?? {} });
  const store = new MemoryStore();
  const logs: string[] = [];
  const ended: EndedCall[] = [];
  const logger = pino(
    { level: 'info', base: null },
    {
      write: (line: string) => {
        logs.push(line);
        const entry = JSON.parse(line) as EndedCall & { msg: string };
        if (entry.msg === 'call ended') ended.push(entry);
      },
    },
  );
  const { modelWire = (open) => open, carrierWire = (socket) => socket } = options;
  const models = createOpenAiModelFactory({
    config: config.model,
    apiKey: 'test-key',
    clock,
    logger,
    openSocket: modelWire(fake.openSocket),
    interruptResponse: options.interruptResponse ?? true,
  });
  const desk = new CallDesk({
    config,
    clock,
    logger,
    models,
    synthesiser: testSynthesiser,
    store,
    prompts: loadPrompts('en-us'),
    channel: 'realtime',
    gateway,
    persona: 'You are a test.',
    toolPolicy: defaultToolPolicy(config.limits.toolTimeoutS * 1000),
    history: () => Promise.resolve([]),
    recordingDirectory: null,
    ...options.parts,
  });
  let count = 0;
  const legs: TwilioLeg[] = [];
  return {
    clock,
    fake,
    gateway,
    store,
    desk,
    legs,
    logs,
    ended,
    async dial(carrierCallId = `CA${++count}`) {
      const { callId } = await clock.drive(
        desk.admit({
          identity: { strength: 'claimed', id: '+15550100' },
          route: '+15550199',
          carrier: 'twilio',
          carrierCallId,
          leg: TWILIO_CAPABILITIES,
        }),
      );
      const call = desk.call(callId);
      if (!call) throw new Error('The call ended before it began.');
      const { carrier, socket: plain } = FakeCarrier.inMemory({ clock, callSid: carrierCallId });
      const socket = carrierWire(plain);
      const noMediaTimeoutMs = config.limits.noMediaTimeoutS * 1000;
      acceptTwilioStream(socket, clock, {
        started: (start) => {
          const leg = new TwilioLeg({ socket, clock, start, noMediaTimeoutMs });
          legs.push(leg);
          desk.attach(callId, leg);
        },
        failed: () => {},
      });
      return { carrier, callId, call };
    },
  };
}

export interface Line extends Exchange {
  readonly carrier: FakeCarrier;
  readonly callId: string;
  readonly call: Call;
}

/** One call, with the caller on the line unless `start` says otherwise. */
export async function placeCall(options: LineOptions = {}): Promise<Line> {
  const exchange = openExchange(options);
  const dialled = await exchange.dial();
  if (options.start !== false) {
    dialled.carrier.start();
    await exchange.clock.settle();
  }
  return { ...exchange, ...dialled };
}

/** The caller says something, and the model has heard the end of it. */
export async function callerSays({ clock, carrier }: Line, ms = 900): Promise<void> {
  await clock.drive(carrier.speak(speech(ms)));
  await clock.advance(600);
}

/**
 * Hangs up and checks what every call must leave behind: nothing.
 *
 * @param crossings - codes of refusals that are nobody's fault, because two messages crossed on the wire
 */
export async function hangUp(line: Line, crossings: readonly string[] = []): Promise<EndedCall> {
  const { carrier, clock, desk, fake, ended, callId } = line;
  carrier.hangup();
  await clock.advance(3000);
  carrier.assertClean();
  const refused = fake.violations.filter(({ code }) => !crossings.includes(code));
  if (refused.length > 0) throw new Error(`The model refused: ${JSON.stringify(refused)}`);
  if (desk.activeCalls + desk.pendingCalls > 0) throw new Error('The call still holds its line.');
  if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers are left.`);
  const end = ended.find((each) => each.callId === callId);
  if (!end) throw new Error('The call has no end on record.');
  return end;
}

/** What the caller heard from `fromMs` to `toMs` on the line, in ms of sound. */
export function heardMs(carrier: FakeCarrier, fromMs = 0, toMs = Number.POSITIVE_INFINITY): number {
  let ms = 0;
  for (const { startMs, endMs } of carrier.heardSegments())
    ms += Math.max(0, Math.min(endMs, toMs) - Math.max(startMs, fromMs));
  return ms;
}

/** A carrier that never returns a mark. */
export function withoutMarks(socket: TextSocket): TextSocket {
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    listen: (sink) =>
      socket.listen(
        sink && {
          message: (data) => {
            if (typeof data !== 'string' || !data.includes('"event":"mark"')) sink.message(data);
          },
          closed: (code) => sink.closed(code),
        },
      ),
    send: (text) => socket.send(text),
    close: (code, reason) => socket.close(code, reason),
  };
}

export interface WireEdit {
  /** A message of ours; `null` keeps it from the model. `reply` answers in the model's place. */
  readonly toModel?: (text: string, reply: (event: object) => void) => string | null;
  /** A message of the model's, as what arrives instead. */
  readonly toClient?: (text: string) => readonly string[];
}

/** Changes what passes between our client and the model. */
export function editing({
  toModel = (text) => text,
  toClient = (text) => [text],
}: WireEdit): (open: OpenModelSocket) => OpenModelSocket {
  return (open) => (request, sink) => {
    const socket = open(request, {
      ...sink,
      message: (data) => {
        for (const text of toClient(String(data))) sink.message(text);
      },
    });
    const reply = (event: object) => queueMicrotask(() => sink.message(JSON.stringify(event)));
    return {
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      send: (text) => {
        const edited = toModel(text, reply);
        if (edited !== null) socket.send(edited);
      },
      ping: () => socket.ping(),
      close: (code) => socket.close(code),
      terminate: () => socket.terminate(),
    };
  };
}

/** An `error` event of the dialect. */
export function errorEvent(code: string, eventId: string | null = null): object {
  const error = { type: 'invalid_request_error', code, message: 'Refused.', param: null, event_id: eventId };
  return { type: 'error', event_id: 'event_injected', error };
}
