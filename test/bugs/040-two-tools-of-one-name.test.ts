// Elsewhere: two tools of one name were accepted, and the model's call went to the wrong one.

import { describe, expect, it } from 'vitest';
import { call, FakeGateway, say } from '../../src/testing/index.ts';
import { callerSays, placeCall } from './line.ts';

const definition = (name: string, description: string) =>
  ({
    type: 'function',
    function: { name, description, parameters: { type: 'object', properties: {} } },
  }) as const;

describe('bug 40: two tools of one name', () => {
  it.each([
    ['a host that lists one name twice', [definition('pay', 'first'), definition('pay', 'second')]],
    [
      'a host with a tool named like one of the call’s own',
      [definition('pay', 'first'), definition('end_call', 'theirs')],
    ],
  ])('(%s) are never both offered, and the first or our own is the one that runs', async (_, tools) => {
    const gateway = new FakeGateway({ tools: { pay: 'paid', end_call: 'theirs' } });
    const line = await placeCall({
      parts: {
        gateway: {
          getToolDefinitions: () => [...tools],
          executeTool: (...args) => gateway.executeTool(...args),
        },
      },
      turns: ({ heard }) => (heard === null ? [] : [say('Goodbye.', { durationMs: 300 }), call('end_call')]),
    });
    const { clock, fake, ended } = line;
    const offered = fake.session.config.tools.map((tool) => (tool as { name: string }).name);
    expect(new Set(offered).size).toBe(offered.length);
    const pay = fake.session.config.tools.find((tool) => (tool as { name: string }).name === 'pay');
    expect(pay).toMatchObject({ description: 'first' });

    await callerSays(line);
    await clock.advance(4000);

    expect(gateway.calls).toEqual([]);
    expect(ended).toMatchObject([{ reason: 'agent_hangup' }]);
  });
});
