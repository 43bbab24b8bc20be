import { type AudioFormat, PCMU_8K } from '../../../src/audio/index.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../../src/config.ts';
import type { ModelSessionConfig, RealtimeModel, RealtimeModelEvents } from '../../../src/model/index.ts';
import {
  createOpenAiModelFactory,
  type ModelSocketRequest,
  type ModelSocketSink,
  type OpenAiModelFactoryOptions,
  type OpenModelSocket,
} from '../../../src/model/openai/index.ts';
import { FakeClock, type FakeModel } from '../../../src/testing/index.ts';

export const KEY = 'sk-test-do-not-print-me';

export function modelConfig(input: RealtimeConfigInput['model'] = {}) {
  return realtimeConfigSchema.parse({ model: input }).model;
}

export const SESSION: ModelSessionConfig = {
  instructions: 'You are Nano, on the phone.',
  tools: [
    {
      type: 'function',
      function: {
        name: 'read_file',
        description: 'Reads a file.',
        parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      },
    },
  ],
  inputFormat: PCMU_8K,
  outputFormat: PCMU_8K,
};

/** A server that does nothing by itself: the test reads what was sent and says what comes back. */
export class RawServer {
  readonly sent: Record<string, unknown>[] = [];
  readonly open: OpenModelSocket;
  request: ModelSocketRequest | null = null;
  sink: ModelSocketSink | null = null;
  bufferedAmount = 0;
  pings = 0;
  answersPings = true;
  closedWith: number | null = null;
  terminated = false;

  constructor() {
    const server = this;
    this.open = (request, sink) => {
      this.request = request;
      this.sink = sink;
      return {
        get bufferedAmount() {
          return server.bufferedAmount;
        },
        send: (text) => this.sent.push(JSON.parse(text)),
        ping: () => {
          this.pings += 1;
          if (this.answersPings) queueMicrotask(() => sink.alive());
        },
        close: (code) => {
          this.closedWith = code;
        },
        terminate: () => {
          this.terminated = true;
        },
      };
    };
  }

  says(event: Record<string, unknown>): void {
    this.sink?.message(JSON.stringify({ event_id: 'event_x', ...event }));
  }

  /** Opens, and acknowledges the session in the formats asked for unless given others. */
  acknowledge(formats: { input?: unknown; output?: unknown } = {}): void {
    this.sink?.opened();
    this.says({ type: 'session.created', session: {} });
    this.says({
      type: 'session.updated',
      session: {
        audio: {
          input: { format: 'input' in formats ? formats.input : { type: 'audio/pcmu' } },
          output: { format: 'output' in formats ? formats.output : { type: 'audio/pcmu' } },
        },
      },
    });
  }

  of(type: string): Record<string, unknown>[] {
    return this.sent.filter((event) => event.type === type);
  }
}

export type Recorded = {
  [K in keyof RealtimeModelEvents]: [name: K, payload: RealtimeModelEvents[K][0] | undefined];
}[keyof RealtimeModelEvents];

const NAMES: readonly (keyof RealtimeModelEvents)[] = [
  'ready',
  'speechStarted',
  'speechStopped',
  'inputCommitted',
  'inputTranscript',
  'responseStarted',
  'outputAudio',
  'outputAudioDone',
  'outputTranscript',
  'toolCall',
  'toolCallCancelled',
  'responseDone',
  'interrupted',
  'expiring',
  'error',
  'closed',
];

export function record(model: RealtimeModel) {
  const events: [name: string, payload: unknown][] = [];
  for (const name of NAMES) model.on(name, (...args: readonly unknown[]) => events.push([name, args[0]]));
  return {
    events,
    of: <K extends keyof RealtimeModelEvents>(name: K) =>
      events.filter(([each]) => each === name).map(([, payload]) => payload as RealtimeModelEvents[K][0]),
    names: () => events.map(([name]) => name),
  };
}

export interface Opening {
  config?: RealtimeConfigInput['model'];
  session?: Partial<ModelSessionConfig>;
  options?: Partial<OpenAiModelFactoryOptions>;
}

/** A session with a `RawServer`, ready unless `acknowledge` is false. */
export async function openRaw(
  opening: Opening & { acknowledge?: { input?: AudioFormat; output?: AudioFormat } | false } = {},
) {
  const clock = new FakeClock();
  const server = new RawServer();
  const factory = createOpenAiModelFactory({
    config: modelConfig(opening.config),
    apiKey: KEY,
    clock,
    openSocket: server.open,
    ...opening.options,
  });
  const model = factory.create();
  const seen = record(model);
  const connected = model.connect({ ...SESSION, ...opening.session });
  connected.catch(() => {});
  if (opening.acknowledge !== false) {
    server.acknowledge();
    await connected;
  }
  return { clock, server, model, seen, connected, factory };
}

/** A session with a `FakeModel` in memory, ready. */
export async function openFake(clock: FakeClock, fake: FakeModel, opening: Opening = {}) {
  const factory = createOpenAiModelFactory({
    config: modelConfig(opening.config),
    apiKey: KEY,
    clock,
    openSocket: fake.openSocket,
    ...opening.options,
  });
  const model = factory.create();
  const seen = record(model);
  await clock.drive(model.connect({ ...SESSION, ...opening.session }));
  return { model, seen };
}
