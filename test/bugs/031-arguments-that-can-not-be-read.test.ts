// Elsewhere: arguments that could not be parsed were shown to the approval policy as none at all, and it let them pass.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

const BAD: [string, string][] = [
  ['no JSON', 'not json'],
  ['a list', '[]'],
  ['a text', '"x"'],
  ['a number', '7'],
  ['null', 'null'],
  ['half an object', '{"a":1'],
  ['two objects', '{"a":1}{"a":2}'],
  ['a key twice', '{"amount":5,"amount":500}'],
  ['a key twice, spelled in two ways', '{"amount":5,"\\u0061mount":500}'],
  ['a key twice, deeper down', '{"list":[{"x":{"to":"a","to":"b"}}]}'],
  ['a megabyte', `{"a":"${'x'.repeat(1_000_000)}"}`],
];

describe('bug 31: arguments that can not be read', () => {
  it.each(BAD)('(%s) are an error to the model, and nobody is asked to run anything', async (_, args) => {
    const line = await placeCall({
      tools: { pay: 'paid' },
      turns: ({ toolOutputs }) => (toolOutputs.length > 0 ? [say('I could not.')] : [call('pay', args)]),
      // A megabyte of arguments takes its time in pieces of 16 characters.
      model: { timing: { speed: 100_000 } },
    });
    const { clock, fake, gateway } = line;
    await callerSays(line);
    await clock.advance(10_000);

    expect(gateway.calls).toEqual([]);
    const [output] = fake.session.receivedOf('conversation.item.create');
    expect(output!.item).toMatchObject({
      type: 'function_call_output',
      output: expect.stringMatching(/^Error/),
    });
    await hangUp(line);
  });

  it.each([
    ['nothing', '', {}],
    ['the same key in two objects', '{"a":{"x":1},"b":{"x":2}}', { a: { x: 1 }, b: { x: 2 } }],
    ['a key that is also a value', '{"a":"a","b":"a"}', { a: 'a', b: 'a' }],
    ['braces and quotes in a text', '{"a":"{\\"a\\":1,","b":"}"}', { a: '{"a":1,', b: '}' }],
  ])('but %s is fine', async (_, args, expected) => {
    const line = await placeCall({
      tools: { pay: 'paid' },
      turns: ({ toolOutputs }) => (toolOutputs.length > 0 ? [] : [call('pay', args)]),
    });
    const { clock, gateway } = line;
    await callerSays(line);
    await clock.advance(2000);

    expect(gateway.calls.map((each) => each.args || {})).toEqual([expected]);
    await hangUp(line);
  });
});
