// Elsewhere: a function call that came after the end of its turn was lost.

import { describe, expect, it } from 'vitest';
import { call, raw, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 35: a function call after response.done', () => {
  it('is run, answered and spoken about', async () => {
    const line = await placeCall({
      tools: { look: { latencyMs: 200, outcome: 'found' } },
      turns: ({ toolOutputs }) => {
        if (toolOutputs.length > 0) return [say('Found.', { durationMs: 700 })];
        const response = { id: line.fake.session.activeResponseId, status: 'completed', output: [] };
        return [
          say('Let me see.', { durationMs: 300 }),
          raw({ type: 'response.done', response } as { type: string }),
          call('look'),
        ];
      },
    });
    const { carrier, clock, fake, gateway } = line;
    await callerSays(line);
    await clock.advance(6000);

    expect(gateway.calls).toHaveLength(1);
    const outputs = fake.session
      .receivedOf('conversation.item.create')
      .filter(({ item }) => item.type === 'function_call_output');
    expect(outputs).toHaveLength(1);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(980);
    await hangUp(line);
  });
});
