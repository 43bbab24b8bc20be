// Elsewhere: a tool under way was invisible to the turn after an interruption, so the model called it again; and what had
// finished meanwhile was thrown away.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall, speech } from './line.ts';

const outputsOf = (line: Awaited<ReturnType<typeof placeCall>>) =>
  line.fake.session.received.flatMap((event) =>
    event.type === 'conversation.item.create' && event.item.type === 'function_call_output'
      ? [event.item.output]
      : [],
  );

const transfer = (latencyMs: number, args = (_: number): unknown => ({ amount: 5 })) => {
  let asked = 0;
  return placeCall({
    tools: { pay: { latencyMs, outcome: 'paid' } },
    turns: ({ heard, toolOutputs }) =>
      heard !== null
        ? [call('pay', args(asked++)), say('One moment.', { durationMs: 4000 })]
        : toolOutputs.length > 0
          ? [say('Done.', { durationMs: 500 })]
          : [],
    config: { limits: { fillerAfterMs: 60_000 } },
  });
};

describe('bug 25: the same request again while its tool still runs', () => {
  it('after an interruption pays once, and the model is told that it is still under way', async () => {
    const line = await transfer(3000);
    const { carrier, clock, gateway, fake } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.advance(1000);

    await clock.drive(carrier.speak(speech(600)));
    await clock.advance(12_000);

    expect(fake.session.items.filter(({ type }) => type === 'function_call')).toHaveLength(2);
    expect(gateway.calls).toHaveLength(1);
    const outputs = outputsOf(line);
    expect(outputs).toHaveLength(2);
    expect(outputs).toContain('paid');
    expect(outputs.find((text) => text !== 'paid')).toMatch(/still running/);
    await hangUp(line);
  });

  it('with its arguments in another order and spacing is the same request', async () => {
    const texts = ['{"amount":5,"to":{"b":1,"a":2}}', '{ "to": {"a":2,"b":1}, "amount": 5 }'];
    const line = await transfer(6000, (n) => texts[n]);
    const { carrier, clock, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.advance(1000);
    await clock.drive(carrier.speak(speech(600)));
    await clock.advance(12_000);

    expect(gateway.calls).toHaveLength(1);
    await hangUp(line);
  });

  it('with other arguments is another request, and runs', async () => {
    const line = await transfer(6000, (n) => ({ amount: n }));
    const { carrier, clock, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.advance(1000);
    await clock.drive(carrier.speak(speech(600)));
    await clock.advance(14_000);

    expect(gateway.calls.map(({ args }) => args)).toEqual([{ amount: 0 }, { amount: 1 }]);
    await hangUp(line);
  });

  it('once the first is done is a new request, and runs', async () => {
    const line = await transfer(500);
    const { clock, gateway } = line;
    await callerSays(line);
    await clock.advance(8000);
    await callerSays(line);
    await clock.advance(8000);

    expect(gateway.calls).toHaveLength(2);
    await hangUp(line);
  });

  it('twice within one response is what the model meant, and both run', async () => {
    const line = await placeCall({
      tools: { pay: { latencyMs: 1000, outcome: 'paid' } },
      turns: ({ heard }) => (heard === null ? [say('Done.')] : [call('pay', {}), call('pay', {})]),
    });
    const { clock, gateway } = line;
    await callerSays(line);
    await clock.advance(5000);

    expect(gateway.calls).toHaveLength(2);
    await hangUp(line);
  });

  it('across a lost session pays once too: the new session is told what runs', async () => {
    let asked = 0;
    const line = await placeCall({
      tools: { pay: { latencyMs: 9000, outcome: 'paid' } },
      turns: ({ trigger }) =>
        trigger === 'speech' && asked++ < 2 ? [call('pay', { amount: 5 })] : [say('Done.')],
      config: { limits: { fillerAfterMs: 60_000 } },
    });
    const { clock, gateway, fake } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.advance(500);
    fake.session.reset();
    await clock.waitFor('a new session', () => fake.sessions.length === 2);
    await clock.advance(500);
    await callerSays(line);
    await clock.advance(15_000);

    expect(gateway.calls).toHaveLength(1);
    await hangUp(line);
  });
});
