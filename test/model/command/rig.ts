import {
  type AudioFormat,
  audioByteLength,
  bytesPerMs,
  fromSamples,
  PCM16_16K,
  PCMU_8K,
} from '../../../src/audio/index.ts';
import { VoiceError } from '../../../src/errors.ts';
import type { ToolDefinition } from '../../../src/gateway/index.ts';
import {
  type CommandModelFactoryOptions,
  createCommandModelFactory,
} from '../../../src/model/command/index.ts';
import type { ModelSessionConfig, RealtimeModelEvents } from '../../../src/model/index.ts';
import type { Recogniser, Synthesiser } from '../../../src/speech/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { clip } from '../../speech/clips.ts';

const EVENTS = [
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
  'responseDone',
  'error',
  'closed',
] as const satisfies (keyof RealtimeModelEvents)[];

export interface Recorded {
  readonly type: keyof RealtimeModelEvents;
  readonly data: unknown;
}

export const tool = (name: string): ToolDefinition => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties: {} } },
});

/** Speaks each letter as 10 ms of a tone, one virtual millisecond of work later. */
export class FakeSynthesiser implements Synthesiser {
  readonly said: string[] = [];
  fails = false;

  async synthesise(text: string) {
    this.said.push(text);
    if (this.fails) throw new VoiceError('SPEECH_FAILED', 'no voice');
    await Promise.resolve();
    const samples = Int16Array.from({ length: text.length * 160 }, (_, i) => 8000 * Math.sin(i / 5));
    return { samples, sampleRate: 16_000 as const };
  }

  close = () => Promise.resolve();
}

/** Hears what it is told to hear, one utterance after another. */
export class FakeRecogniser implements Recogniser {
  readonly hears: (string | null)[] = [];
  readonly grammars: string[] = [];
  readonly lengths: number[] = [];
  fails = false;

  async recognise(samples: Int16Array, grammar: { expression: string }) {
    // The warm-up is a tenth of a second of silence and no utterance.
    if (samples.length === 1600) return { text: null, score: 0 };
    if (this.fails) throw new VoiceError('SPEECH_FAILED', 'deaf');
    this.grammars.push(grammar.expression);
    this.lengths.push(samples.length);
    return { text: this.hears.shift() ?? null, score: -1 };
  }

  close = () => Promise.resolve();
}

export const TOOLS = ['current_time', 'list_dir', 'read_file', 'end_call'].map(tool);

/** A session whose caller, recogniser and synthesiser the test controls. */
export async function open(
  options: CommandModelFactoryOptions &
    Partial<Pick<ModelSessionConfig, 'inputFormat' | 'outputFormat' | 'tools' | 'history'>> = {},
) {
  const clock = new FakeClock();
  const synthesiser = new FakeSynthesiser();
  const recogniser = new FakeRecogniser();
  const { inputFormat = PCM16_16K, outputFormat = PCMU_8K, tools = TOOLS, history = [], ...rest } = options;
  const factory = createCommandModelFactory({
    clock,
    synthesiser,
    recogniser,
    slotValues: () => ['notes.txt'],
    ...rest,
  });
  const model = factory.create();
  const events: Recorded[] = [];
  for (const type of EVENTS) model.on(type, (...[data]: unknown[]) => events.push({ type, data }));
  await clock.drive(model.connect({ instructions: 'Be brief.', tools, inputFormat, outputFormat, history }));

  const settle = () => clock.run(() => false, { limitMs: 1000 });
  const speech = await clip('fixtures/synthesised/what-time-is-it-16k.wav');
  const hear = (samples: Int16Array, format: AudioFormat = PCM16_16K) => {
    const bytes = fromSamples(samples, format);
    const frame = bytesPerMs(format) * 20;
    for (let at = 0; at < bytes.length; at += frame) model.appendAudio(bytes.subarray(at, at + frame));
  };
  return {
    clock,
    synthesiser,
    recogniser,
    factory,
    model,
    events,
    settle,
    hear,
    speech,
    types: () => events.map((event) => event.type),
    of: <K extends keyof RealtimeModelEvents>(type: K) =>
      events
        .filter((event) => event.type === type)
        .map(({ data }) => data as RealtimeModelEvents[K][0] & object),
    clear: () => events.splice(0),
    /** The caller says something that the recogniser takes for `text`. */
    async says(text: string | null) {
      recogniser.hears.push(text);
      hear(speech);
      hear(new Int16Array(16_000));
      await settle();
    },
    audioMs: () =>
      events
        .filter((event) => event.type === 'outputAudio')
        .map(({ data }) => (data as RealtimeModelEvents['outputAudio'][0]).audio)
        .reduce((sum, audio) => sum + audioByteLength(audio) / bytesPerMs(outputFormat), 0),
  };
}
