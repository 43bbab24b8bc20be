/**
 * Calls inside this process, with everything of ours between a carrier's socket and a model's socket, and nothing else:
 * both sockets are functions. For what is counted in nanoseconds, allocations and timers.
 *
 * @module
 */

import { createApprovals } from '../../src/approval/index.ts';
import { loadAudio } from '../../src/audio/index.ts';
import { CallDesk, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import type { Clock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import type { ToolGateway } from '../../src/gateway/index.ts';
import type { TextSocket, TextSocketSink } from '../../src/leg/index.ts';
import { acceptTwilioStream, TWILIO_CAPABILITIES, TwilioLeg } from '../../src/leg/twilio/index.ts';
import { createOpenAiModelFactory, type ModelSocketSink } from '../../src/model/openai/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';
import { BLANK_PAYLOAD } from '../relay/stamp.ts';

export const GATED_TOOL = 'delete_everything';

/** One call, held by its two ends. */
export class Line {
  readonly index: number;
  #carrier: TextSocketSink | null = null;
  #model: ModelSocketSink | null = null;
  /** Messages to the carrier and to the model since the last look. */
  toCarrier = 0;
  toModel = 0;
  onCarrier: (text: string) => void = () => {};
  onModel: (text: string) => void = () => {};
  isModelClosed = false;
  /** Model sessions so far: after an hour a session is at its limit, and replaced. */
  sessions = 0;
  #frames = 0;
  #answers = 0;

  constructor(index: number) {
    this.index = index;
  }

  readonly carrierSocket: TextSocket = {
    bufferedAmount: 0,
    listen: (sink) => {
      this.#carrier = sink;
    },
    send: (text) => {
      this.toCarrier += 1;
      this.onCarrier(text);
    },
    close: () => {},
  };

  /** @param onClose - called when our side has let the session go */
  openModel(sink: ModelSocketSink, onClose: () => void) {
    this.#model = sink;
    this.sessions += 1;
    this.isModelClosed = false;
    const close = () => {
      if (this.isModelClosed) return;
      this.isModelClosed = true;
      onClose();
    };
    queueMicrotask(() => sink.opened());
    return {
      bufferedAmount: 0,
      send: (text: string) => {
        this.toModel += 1;
        if (text.startsWith('{"type":"session.update"')) {
          queueMicrotask(() => this.model({ type: 'session.updated', session: {} }));
        }
        this.onModel(text);
      },
      ping: () => queueMicrotask(() => sink.alive()),
      close: (code: number) => {
        close();
        queueMicrotask(() => sink.closed(code));
      },
      terminate: close,
    };
  }

  carrier(text: string): void {
    this.#carrier?.message(text);
  }

  model(event: Record<string, unknown>): void {
    this.#model?.message(JSON.stringify(event));
  }

  modelText(text: string): void {
    this.#model?.message(text);
  }

  /** Nothing of the call is held from here any more. */
  letGo(): void {
    this.#carrier = null;
    this.#model = null;
  }

  get streamSid(): string {
    return `MZ${String(this.index).padStart(32, '0')}`;
  }

  /** The next 20 ms of the caller, as Twilio writes them. */
  mediaText(): string {
    const n = ++this.#frames;
    return (
      `{"event":"media","sequenceNumber":"${n + 1}","media":{"track":"inbound","chunk":"${n}","timestamp":"${n * 20}",` +
      `"payload":"${BLANK_PAYLOAD}"},"streamSid":"${this.streamSid}"}`
    );
  }

  get responseId(): string {
    return `resp_${this.index}_${this.#answers}`;
  }

  get itemId(): string {
    return `item_${this.index}_${this.#answers}`;
  }

  beginAnswer(): void {
    this.#answers += 1;
    const { responseId: response_id, itemId: item_id } = this;
    this.model({ type: 'input_audio_buffer.committed', item_id: `said_${item_id}` });
    this.model({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: `said_${item_id}`,
      transcript: 'And then?',
    });
    this.model({ type: 'response.created', response: { id: response_id, status: 'in_progress' } });
    const item = { id: item_id, type: 'message', role: 'assistant' };
    this.model({ type: 'response.output_item.added', response_id, output_index: 0, item });
  }

  endAnswer(): void {
    const { responseId: response_id, itemId: item_id } = this;
    this.model({ type: 'response.output_audio.done', response_id, item_id });
    this.model({ type: 'response.done', response: { id: response_id, status: 'completed', output: [] } });
  }

  deltaText(): string {
    return (
      `{"type":"response.output_audio.delta","event_id":"event_${this.#frames}","response_id":"${this.responseId}",` +
      `"item_id":"${this.itemId}","output_index":0,"content_index":0,"delta":"${BLANK_PAYLOAD}"}`
    );
  }
}

export interface Lines {
  readonly desk: CallDesk;
  readonly lines: readonly Line[];
  dial(count: number): Promise<void>;
  /** The caller hangs up. */
  hangUp(line: Line): void;
  close(): Promise<void>;
}

export async function openLines(clock: Clock, gateway: ToolGateway): Promise<Lines> {
  await loadAudio();
  const config = realtimeConfigSchema.parse({
    greeting: '',
    limits: { maxCalls: 2000, silenceTimeoutS: 3600, maxCallS: 86_400, fillerAfterMs: 0 },
    model: { provider: 'openai', apiKey: 'bench' },
    approvals: { toolGate: { requireApproval: [GATED_TOOL], unsafe: true } },
  });
  const store = await openStore({ engine: 'sqlite', file: ':memory:' });
  const approvals = createApprovals({
    config: config.approvals,
    store,
    clock,
    logger: silentLogger,
    dataDirectory: null,
    locale: 'en-us',
    toolTimeoutMs: 60_000,
    executor: 'bench',
    recogniser: null,
  });
  const lines: Line[] = [];
  let dialled: Line | null = null;
  // A session that is replaced is closed first; the next one that nobody dialled for is that call's.
  const replaced: Line[] = [];
  const hungUp = new Set<Line>();
  const desk = new CallDesk({
    config,
    clock,
    logger: silentLogger,
    models: createOpenAiModelFactory({
      config: config.model,
      apiKey: 'bench',
      clock,
      openSocket: (_request, sink) => {
        const line = dialled ?? replaced.shift();
        if (!line) throw new Error('A model session that nobody dialled for.');
        return line.openModel(sink, () => {
          if (!hungUp.has(line)) replaced.push(line);
        });
      },
    }),
    synthesiser: {
      synthesise: async () => ({ samples: new Int16Array(1600), sampleRate: 16000 }),
      close: async () => {},
    },
    store,
    prompts: loadPrompts('en-us'),
    channel: 'realtime',
    gateway,
    persona: 'You are a bench.',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
    approvals: approvals?.inline ?? null,
  });

  async function dialOne(): Promise<void> {
    const line = new Line(lines.length);
    dialled = line;
    const { callId } = await desk.admit({
      identity: { strength: 'none', id: null },
      route: '',
      carrier: 'twilio',
      carrierCallId: `CA${line.index}`,
      leg: TWILIO_CAPABILITIES,
    });
    dialled = null;
    acceptTwilioStream(line.carrierSocket, clock, {
      started: (start) =>
        desk.attach(
          callId,
          new TwilioLeg({ socket: line.carrierSocket, clock, start, noMediaTimeoutMs: 30_000 }),
        ),
      failed: () => {},
    });
    line.carrier('{"event":"connected","protocol":"Call","version":"1.0.0"}');
    line.carrier(
      JSON.stringify({
        event: 'start',
        streamSid: line.streamSid,
        start: {
          accountSid: 'AC1',
          callSid: `CA${line.index}`,
          tracks: ['inbound'],
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        },
      }),
    );
    lines.push(line);
  }

  return {
    desk,
    lines,
    async dial(count) {
      for (let i = 0; i < count; i += 1) await dialOne();
    },
    hangUp(line) {
      hungUp.add(line);
      line.carrier(`{"event":"stop","streamSid":"${line.streamSid}"}`);
    },
    async close() {
      for (const line of lines) hungUp.add(line);
      desk.hangUpAll();
      await approvals?.close();
      await store.close();
    },
  };
}
