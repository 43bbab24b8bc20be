/** Our client, seen from outside: a conversation by text, with a tool, against somebody else's realtime server. */

import { LLMock } from '@copilotkit/aimock';
import { afterEach, describe, expect, it } from 'vitest';
import { createOpenAiModelFactory } from '../../../src/model/openai/index.ts';
import { FakeGateway } from '../../../src/testing/index.ts';
import { modelConfig, record, SESSION } from './support.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function server(): Promise<string> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  mock.on(
    { userMessage: 'notes', hasToolResult: false, endpoint: 'realtime' },
    { toolCalls: [{ name: 'read_file', arguments: '{"path":"notes.md"}' }] },
  );
  mock.on({ toolResultContains: 'buy milk', endpoint: 'realtime' }, { content: 'Your notes say: buy milk.' });
  const url = await mock.start();
  closers.push(() => mock.stop());
  return url;
}

describe("our client against aimock's realtime server", () => {
  it('asks by text, runs a tool through a gateway, and hears the answer', async () => {
    const gateway = new FakeGateway({ tools: { read_file: 'buy milk' } });
    const factory = createOpenAiModelFactory({
      config: modelConfig({ provider: 'openai-compatible', baseUrl: await server() }),
      apiKey: undefined,
    });
    const model = factory.create();
    closers.push(() => model.close());
    const seen = record(model);
    let requests = 0;
    const answered = new Promise<string>((resolve) => {
      model.on('outputTranscript', ({ text, final }) => final && resolve(text));
    });
    model.on('toolCall', async ({ callId, name, args }) => {
      const { content } = await gateway.executeTool('voice:1', name, args, { channel: 'voice' });
      model.sendToolOutput(callId, String(content));
      model.requestResponse({ requestId: `req_${++requests}` });
    });

    await model.connect({ ...SESSION, tools: gateway.getToolDefinitions() });
    model.addContext('user', 'Read me my notes.');
    model.requestResponse({ requestId: `req_${++requests}` });
    const answer = await answered;
    await new Promise<void>((resolve) => {
      if (seen.of('responseDone').length === 2) resolve();
      model.on('responseDone', () => resolve());
    });

    expect(answer).toBe('Your notes say: buy milk.');
    expect(gateway.calls.map(({ name, args }) => [name, args])).toEqual([
      ['read_file', { path: 'notes.md' }],
    ]);
    expect(seen.of('toolCall')).toHaveLength(1);
    expect(seen.of('responseStarted').map(({ requestId }) => requestId)).toEqual(['req_1', 'req_2']);
    expect(seen.of('responseDone').map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(seen.of('error')).toEqual([]);
  });

  it('opens and closes cleanly with a server that turns the retired beta dialect away', async () => {
    const factory = createOpenAiModelFactory({
      config: modelConfig({ provider: 'openai-compatible', baseUrl: await server() }),
      apiKey: undefined,
    });
    const model = factory.create();
    const seen = record(model);

    await model.connect(SESSION);
    const closed = new Promise((resolve) => model.on('closed', resolve));
    model.close();

    expect(await closed).toEqual({ code: 1000, reason: 'closed_locally' });
    expect(seen.of('error')).toEqual([]);
  });
});
