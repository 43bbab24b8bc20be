/** `FakeModel`, seen from outside: the official agents SDK, as it comes, over a real WebSocket. */

import { RealtimeAgent, RealtimeSession, tool } from '@openai/agents-realtime';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fromSamples, PCM16_24K } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}

const SPEECH = arrayBuffer(fromSamples(tone(500, 300).samples, PCM16_24K));
const QUIET = arrayBuffer(new Uint8Array(48 * 1000));

/** Resolves with the first event of a session that `pick` takes. */
function once<T>(
  subscribe: (listener: (value: T) => void) => void,
  pick: (value: T) => boolean = () => true,
) {
  return new Promise<T>((resolve) => {
    subscribe((value) => {
      if (pick(value)) resolve(value);
    });
  });
}

describe('the stock agents SDK against FakeModel', () => {
  it('completes a spoken conversation with a tool call and an interruption, and breaks no rule', async () => {
    const fake = new FakeModel({ apiKey: 'test-key', timing: { firstOutputMs: 20, speed: 20 } });
    closers.push(() => fake.close());
    fake.willHear('what time is it', 'stop, thank you').onTurn((turn) => {
      if (turn.toolOutputs.length > 0)
        return [say(`It is ${turn.toolOutputs[0]?.output}.`, { durationMs: 8000 })];
      return turn.heard === 'stop, thank you' ? [say('Goodbye.')] : [call('get_time', { zone: 'UTC' })];
    });
    const url = await fake.listen();
    const zones: string[] = [];
    const agent = new RealtimeAgent({
      name: 'clock',
      instructions: 'Tell the time.',
      tools: [
        tool({
          name: 'get_time',
          description: 'The time in a zone.',
          parameters: z.object({ zone: z.string() }),
          execute: async ({ zone }) => {
            zones.push(zone);
            return 'ten past ten';
          },
        }),
      ],
    });
    const session = new RealtimeSession(agent, { transport: 'websocket' });
    closers.push(() => session.close());
    const errors: unknown[] = [];
    session.on('error', (error) => errors.push(error));
    await session.connect({ apiKey: 'test-key', url: `${url}?model=gpt-realtime-2.1` });

    const firstAudio = once<{ data: ArrayBuffer }>((listener) => session.on('audio', listener));
    session.sendAudio(SPEECH);
    session.sendAudio(QUIET);
    const heard = await firstAudio;
    const interrupted = once<unknown>((listener) => session.on('audio_interrupted', listener));
    const goodbye = once<{ transcript?: string }>(
      (listener) => session.transport.on('response.output_audio_transcript.done', listener),
      (event) => event.transcript === 'Goodbye.',
    );
    const done = once<unknown>(
      (listener) => session.transport.on('turn_done', listener),
      () => fake.session.sentOf('response.done').length === 3,
    );
    session.sendAudio(SPEECH);
    await interrupted;
    session.sendAudio(QUIET);
    await goodbye;
    await done;

    expect(fake.violations).toEqual([]);
    expect(errors).toEqual([]);
    expect(zones).toEqual(['UTC']);
    expect(heard.data.byteLength).toBeGreaterThan(0);
    expect(fake.session.receivedOf('conversation.item.truncate')).toHaveLength(1);
    expect(fake.session.sentOf('conversation.item.truncated')).toHaveLength(1);
    expect(
      fake.session.sentOf('response.done').map((event) => (event.response as { status: string }).status),
    ).toEqual(['completed', 'cancelled', 'completed']);
    expect(fake.session.items.map(({ type, role }) => role ?? type)).toEqual([
      'user',
      'function_call',
      'function_call_output',
      'assistant',
      'user',
      'assistant',
    ]);
    expect(fake.session.config).toMatchObject({
      instructions: 'Tell the time.',
      audio: { input: { turn_detection: { type: 'semantic_vad', interrupt_response: true } } },
    });
  });

  it('is refused with a wrong key', async () => {
    const fake = new FakeModel({ apiKey: 'test-key' });
    closers.push(() => fake.close());
    const url = await fake.listen();
    const session = new RealtimeSession(new RealtimeAgent({ name: 'nobody' }), { transport: 'websocket' });
    session.on('error', () => {});

    await expect(session.connect({ apiKey: 'wrong', url: `${url}?model=m` })).rejects.toBeDefined();

    expect(fake.refusedHandshakes).toEqual([401]);
    expect(fake.sessions).toEqual([]);
  });
});
