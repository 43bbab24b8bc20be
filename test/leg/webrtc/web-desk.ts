/** The call desk in real time, with a model that does what the test says, for calls from web pages. */

import { pino } from 'pino';
import { loadAudio, PCM16_24K } from '../../../src/audio/index.ts';
import { type Call, CallDesk, defaultToolPolicy, loadPrompts } from '../../../src/call/index.ts';
import { realClock } from '../../../src/clock.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../../src/config.ts';
import { WEBRTC_CAPABILITIES } from '../../../src/leg/webrtc/index.ts';
import type { CallEndReason } from '../../../src/store/index.ts';
import { MemoryStore, TestModels, testSynthesiser } from '../../call/harness.ts';

export interface WebCall {
  readonly callId: string;
  readonly call: Call;
  readonly models: TestModels;
  readonly desk: CallDesk;
  readonly ended: CallEndReason[];
}

export async function openWebCall(config: RealtimeConfigInput = {}): Promise<WebCall> {
  await loadAudio();
  const parsed = realtimeConfigSchema.parse({ greeting: '', ...config });
  const formats = { inputFormats: [PCM16_24K], outputFormats: [PCM16_24K] };
  const models = new TestModels([], [], formats);
  const desk = new CallDesk({
    config: parsed,
    clock: realClock,
    logger: pino({ level: 'silent' }),
    models,
    synthesiser: testSynthesiser,
    store: new MemoryStore(),
    prompts: loadPrompts('en-us'),
    channel: 'realtime',
    gateway: null,
    persona: '',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
  });
  const ended: CallEndReason[] = [];
  desk.onCall = (each) => each.on('ended', (reason) => ended.push(reason));
  const { callId } = await desk.admit({
    identity: { strength: 'none', id: null },
    route: '',
    carrier: 'webrtc',
    carrierCallId: 'w1',
    leg: WEBRTC_CAPABILITIES,
  });
  const call = desk.call(callId);
  if (!call) throw new Error('The call ended before it began.');
  return { callId, call, models, desk, ended };
}
