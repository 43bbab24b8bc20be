/**
 * This project: call desk, Twilio leg and OpenAI adapter, on real time and a real WebSocket to the model.
 *
 * @module
 */

import { loadAudio } from '../../src/audio/index.ts';
import { CallDesk, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import { realClock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { acceptTwilioStream, TWILIO_CAPABILITIES, TwilioLeg } from '../../src/leg/twilio/index.ts';
import { createOpenAiModelFactory } from '../../src/model/openai/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';
import { FakeGateway } from '../../src/testing/index.ts';
import type { Peer } from './peer.ts';

export const ours: Peer = {
  name: 'nanobot-channel-realtime',
  async answer({ modelUrl, socket, tools }) {
    await loadAudio();
    const config = realtimeConfigSchema.parse({
      greeting: '',
      model: { provider: 'openai', apiKey: 'test-key', baseUrl: modelUrl },
    });
    const store = await openStore({ engine: 'sqlite', file: ':memory:' });
    const desk = new CallDesk({
      config,
      clock: realClock,
      logger: silentLogger,
      models: createOpenAiModelFactory({ config: config.model, apiKey: 'test-key' }),
      // Nothing is said in our own voice here but fillers: a short tone stands for it.
      synthesiser: {
        synthesise: async () => ({ samples: new Int16Array(6400).fill(3000), sampleRate: 16000 }),
        close: async () => {},
      },
      store,
      prompts: loadPrompts('en-us'),
      channel: 'realtime',
      gateway: new FakeGateway({
        tools: Object.fromEntries(
          tools.map(({ name, latencyMs, output }) => [name, { latencyMs, outcome: output }]),
        ),
      }),
      persona: 'You are a test.',
      toolPolicy: defaultToolPolicy(60_000),
      history: async () => [],
      recordingDirectory: null,
    });
    const { callId } = await desk.admit({
      identity: { strength: 'none', id: null },
      route: '',
      carrier: 'twilio',
      carrierCallId: 'CA1',
      leg: TWILIO_CAPABILITIES,
    });
    acceptTwilioStream(socket, realClock, {
      started: (start) => desk.attach(callId, new TwilioLeg({ socket, clock: realClock, start })),
      failed: () => {},
    });
    return {
      async close() {
        await desk.drain(0);
        await store.close();
      },
    };
  },
};
