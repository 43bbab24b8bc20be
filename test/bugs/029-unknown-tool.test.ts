// Elsewhere: a call of a tool that does not exist raised an error on our side only, and the model waited for ever; the
// fix that answered by itself then went round in circles.

import { describe, expect, it } from 'vitest';
import { MAX_ROUNDS_WITHOUT_CALLER } from '../../src/call/tools.ts';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 29: a tool that does not exist', () => {
  it('is answered with an error, and the model can speak about it', async () => {
    const line = await placeCall({
      tools: { real: 'yes' },
      turns: ({ toolOutputs }) =>
        toolOutputs.length > 0
          ? [say(`It says: ${toolOutputs[0]!.output}`, { durationMs: 900 })]
          : [call('nope')],
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.advance(4000);

    const [output] = fake.session.receivedOf('conversation.item.create');
    expect(output!.item).toMatchObject({
      type: 'function_call_output',
      output: expect.stringMatching(/^Error/),
    });
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(880);
    await hangUp(line);
  });

  it.each([0, 300])('called again and again (%i ms of speech each time) ends by itself', async (ms) => {
    const line = await placeCall({
      turns: () => [...(ms > 0 ? [say('Trying.', { durationMs: ms })] : []), call('nope')],
      config: { limits: { silenceTimeoutS: 3600 } },
    });
    const { clock, fake } = line;
    await callerSays(line);
    await clock.advance(120_000);

    const asked = fake.session.receivedOf('response.create').length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThanOrEqual(MAX_ROUNDS_WITHOUT_CALLER + 2);
    // Every call has its output, the refused ones too.
    const calls = fake.session.items.filter(({ type }) => type === 'function_call');
    const outputs = fake.session.items.filter(({ type }) => type === 'function_call_output');
    expect(outputs).toHaveLength(calls.length);
    // The caller can go on.
    await callerSays(line);
    await clock.advance(2000);
    expect(fake.session.receivedOf('response.create').length).toBeGreaterThan(asked);
    await hangUp(line);
  });
});
