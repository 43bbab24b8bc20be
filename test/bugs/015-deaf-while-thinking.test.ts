// Elsewhere: while the agent was thinking or a tool ran, what the caller said had no effect; and speech that had been
// guarded against once kept being taken for an echo.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 15: a caller who speaks while a tool runs for 30 s', () => {
  it.each(['read_file', 'send_email'])(
    'is answered at once (%s), and the result comes back exactly once',
    async (tool) => {
      const line = await placeCall({
        tools: { [tool]: { latencyMs: 30_000, outcome: 'the result' } },
        hears: ['do it', 'stop'],
        turns: ({ heard, toolOutputs }) => {
          if (heard === 'do it') return [call(tool, { a: 1 })];
          if (heard === 'stop') return [say('I hear you.', { durationMs: 800 })];
          return toolOutputs.length > 0 ? [say('There it is.', { durationMs: 800 })] : [];
        },
        config: { limits: { fillerAfterMs: 60_000 } },
      });
      const { carrier, clock, fake, gateway } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      await clock.advance(5000);

      const from = carrier.nowMs;
      await callerSays(line);
      await clock.advance(2000);

      expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(780);
      await clock.advance(40_000);
      expect(gateway.calls).toHaveLength(1);
      const outputs = fake.session
        .receivedOf('conversation.item.create')
        .filter(({ item }) => item.type === 'function_call_output');
      expect(outputs).toHaveLength(1);
      await hangUp(line);
    },
  );

  it('stops an answer that goes with the tool, and the tool meets its policy', async () => {
    const line = await placeCall({
      tools: {
        read_file: { latencyMs: 30_000, outcome: 'read' },
        send_email: { latencyMs: 30_000, outcome: 'sent' },
      },
      hears: ['do both', 'stop'],
      turns: ({ heard }) =>
        heard === 'do both'
          ? [
              call('read_file'),
              call('send_email'),
              say('One moment, I look into it now.', { durationMs: 9000 }),
            ]
          : [say('Stopped.', { durationMs: 800 })],
    });
    const { carrier, clock, fake, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tools', () => gateway.calls.length === 2);
    await clock.advance(5000);

    const spokenAt = clock.now();
    fake.session.startSpeech();
    await clock.advance(100);

    expect(carrier.queuedMs).toBe(0);
    const [read, send] = [gateway.callsOf('read_file')[0]!, gateway.callsOf('send_email')[0]!];
    expect((read.abortedAtMs ?? Number.POSITIVE_INFINITY) - spokenAt).toBeLessThanOrEqual(100);
    expect(send.abortedAtMs).toBeNull();
    const from = carrier.nowMs;
    fake.session.endSpeech();
    await clock.advance(2500);
    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(780);
    await clock.advance(30_000);
    expect(send.result?.content).toBe('sent');
    await hangUp(line);
  });

  it('is heard over a filler too, and the filler does not deafen what follows', async () => {
    const line = await placeCall({
      tools: { send_email: { latencyMs: 20_000, outcome: 'sent' } },
      hears: ['do it', 'still there?', 'and now?'],
      turns: ({ heard, toolOutputs }) => {
        if (heard === 'do it') return [call('send_email')];
        return toolOutputs.length > 0 ? [say('Sent.')] : [say('Yes, still here.', { durationMs: 900 })];
      },
      config: { limits: { fillerAfterMs: 1000 } },
    });
    const { carrier, clock, gateway, fake } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.drive(carrier.whenAgentSpeaks());
    for (let turn = 0; turn < 2; turn += 1) {
      const from = carrier.nowMs;
      await callerSays(line);
      await clock.advance(1800);
      expect(heardMs(carrier, from), `turn ${turn}`).toBeGreaterThanOrEqual(880);
    }
    expect(fake.session.sentOf('input_audio_buffer.speech_started')).toHaveLength(3);
    expect(gateway.calls[0]!.abortedAtMs).toBeNull();
    await clock.advance(20_000);
    await hangUp(line);
  });
});
