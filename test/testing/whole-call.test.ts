/** The doubles together: a whole call on virtual time, with every real part between caller and model. */

import { describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { CallDesk, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { acceptTwilioStream, TWILIO_CAPABILITIES, TwilioLeg } from '../../src/leg/twilio/index.ts';
import { createOpenAiModelFactory } from '../../src/model/openai/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { call, FakeCarrier, FakeClock, FakeGateway, FakeModel, say, tone } from '../../src/testing/index.ts';
import { MemoryStore, testSynthesiser } from '../call/harness.ts';

const CALLER = encodeG711(tone(900, 300, 8000).samples, 'pcmu');

async function placeCall(
  fake: FakeModel,
  clock: FakeClock,
  gateway: FakeGateway,
  input: RealtimeConfigInput = {},
) {
  const config = realtimeConfigSchema.parse(input);
  const store = new MemoryStore();
  const desk = new CallDesk({
    config,
    clock,
    logger: silentLogger,
    models: createOpenAiModelFactory({
      config: config.model,
      apiKey: 'k',
      clock,
      openSocket: fake.openSocket,
    }),
    synthesiser: testSynthesiser,
    store,
    prompts: await loadPrompts('en-us'),
    channel: 'voice',
    gateway,
    persona: 'You are Nano.',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
  });
  const { callId } = await clock.drive(
    desk.admit({
      identity: { strength: 'claimed', id: '+15550100' },
      route: '+15550199',
      carrier: 'twilio',
      carrierCallId: 'CA1',
      leg: TWILIO_CAPABILITIES,
    }),
  );
  const { carrier, socket } = FakeCarrier.inMemory({ clock });
  acceptTwilioStream(socket, clock, {
    started: (start) => desk.attach(callId, new TwilioLeg({ socket, clock, start })),
    failed: (reason) => {
      throw new Error(reason);
    },
  });
  return { carrier, desk, store };
}

describe('a whole call on virtual time', () => {
  it('greets, runs a tool, is talked over, and ends, and neither side refuses a message', async () => {
    const startedAt = performance.now();
    const clock = new FakeClock();
    const fake = new FakeModel({ clock, latencyMs: 30 })
      .willHear('read me the notes', 'stop')
      .onTurn((turn) => {
        if (turn.trigger === 'request' && turn.toolOutputs.length === 0)
          return [say('Hello.', { durationMs: 800 })];
        if (turn.toolOutputs.length > 0) return [say('A very long list of notes.', { durationMs: 20_000 })];
        return turn.heard === 'stop'
          ? [say('All right.', { durationMs: 600 })]
          : [call('read_file', { path: 'a' })];
      });
    const gateway = new FakeGateway({ clock, tools: { read_file: { latencyMs: 400, outcome: 'milk' } } });
    const { carrier, desk, store } = await placeCall(fake, clock, gateway);
    const script = async () => {
      carrier.start();
      await carrier.whenAgentIdle(600);
      await carrier.speak(CALLER);
      await carrier.whenAgentSpeaks();
      await carrier.wait(2000);
      await carrier.speak(CALLER);
      await carrier.whenAgentIdle(1500);
      await carrier.wait(25_000);
      carrier.hangup();
    };

    await clock.drive(script());
    await clock.advance(1000);

    carrier.assertClean();
    expect(fake.violations).toEqual([]);
    expect(gateway.calls.map(({ name, args, result }) => [name, args, result?.content])).toEqual([
      ['read_file', { path: 'a' }, 'milk'],
    ]);
    const segments = carrier.heardSegments(200);
    expect(segments).toHaveLength(3);
    const [greeting, answer, last] = segments.map(({ startMs, endMs }) => endMs - startMs);
    expect(greeting).toBeCloseTo(800, -2);
    expect(answer).toBeGreaterThan(1900);
    expect(answer).toBeLessThan(3000);
    expect(last).toBeCloseTo(600, -2);
    const truncated = fake.session.receivedOf('conversation.item.truncate');
    expect(truncated).toHaveLength(1);
    // What the model was told was heard is what was heard, to within one frame and the marks' spacing.
    expect(Math.abs((truncated[0]?.audio_end_ms ?? 0) - (answer ?? 0))).toBeLessThanOrEqual(250);
    expect(desk.activeCalls).toBe(0);
    expect([...store.calls.values()]).toMatchObject([{ endReason: expect.any(String) }]);
    expect(clock.pendingTimers).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it('survives a model connection that breaks in the middle of a sentence', async () => {
    const clock = new FakeClock();
    const fake = new FakeModel({ clock }).onTurn(() => [say('A long greeting.', { durationMs: 6000 })]);
    const { carrier, desk } = await placeCall(fake, clock, new FakeGateway({ clock, tools: {} }));
    carrier.start();
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1000);

    fake.session.reset();
    await clock.advance(10_000);
    const reconnected = fake.sessions.length;
    carrier.hangup();
    await clock.advance(5000);

    expect(reconnected).toBeGreaterThanOrEqual(2);
    carrier.assertClean();
    expect(fake.violations).toEqual([]);
    expect(desk.activeCalls).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
