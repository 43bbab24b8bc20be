import { describe, expect, it } from 'vitest';
import type { ToolGateway } from '../../src/gateway/index.ts';
import { FakeClock, FakeGateway } from '../../src/testing/index.ts';

const OPTIONS = { channel: 'voice' } as const;

describe('FakeGateway', () => {
  it('is a ToolGateway and publishes its tools in order', () => {
    const gateway: ToolGateway = new FakeGateway({
      tools: {
        now: 'ten',
        read_file: {
          outcome: 'x',
          description: 'Reads.',
          parameters: { type: 'object', required: ['path'] },
        },
      },
    });

    expect(gateway.getToolDefinitions()).toEqual([
      {
        type: 'function',
        function: {
          name: 'now',
          description: 'The tool now.',
          parameters: { type: 'object', properties: {} },
        },
      },
      {
        type: 'function',
        function: {
          name: 'read_file',
          description: 'Reads.',
          parameters: { type: 'object', required: ['path'] },
        },
      },
    ]);
  });

  it('takes as long as it is told and records the call', async () => {
    const clock = new FakeClock();
    const gateway = new FakeGateway({
      clock,
      tools: { add: { latencyMs: 300, outcome: (args) => String((args as { a: number }).a + 1) } },
    });

    const running = gateway.executeTool('voice:1', 'add', '{"a":1}', OPTIONS);
    await clock.advance(299);
    expect(gateway.running).toHaveLength(1);
    const result = await clock.drive(running);

    expect(result).toEqual({ content: '2', isError: false });
    expect(gateway.calls).toMatchObject([
      {
        sessionKey: 'voice:1',
        name: 'add',
        args: { a: 1 },
        rawArgs: '{"a":1}',
        startedAtMs: 0,
        endedAtMs: 300,
      },
    ]);
    expect(gateway.running).toEqual([]);
  });

  it('fails in each of the ways a tool can fail', async () => {
    const clock = new FakeClock();
    const gateway = new FakeGateway({
      clock,
      tools: {
        bad: { outcome: { type: 'error', message: 'no such file' } },
        worse: { outcome: { type: 'throw', error: new Error('boom') } },
      },
    });
    const run = (name: string) => clock.drive(gateway.executeTool('voice:1', name, {}, OPTIONS));

    expect(await run('bad')).toEqual({ content: 'Error: no such file', isError: true });
    expect(await run('nope')).toEqual({ content: "Error: Tool 'nope' not found", isError: true });
    expect(await run('constructor')).toMatchObject({ isError: true });
    await expect(run('worse')).rejects.toThrow('boom');
    expect(gateway.running).toEqual([]);
  });

  it('hangs until it is aborted, and says when that was', async () => {
    const clock = new FakeClock();
    const gateway = new FakeGateway({ clock, tools: { hang: { outcome: { type: 'hang' } } } });
    const controller = new AbortController();
    const running = gateway.executeTool('voice:1', 'hang', {}, { ...OPTIONS, signal: controller.signal });
    await clock.advance(60_000);
    expect(gateway.running).toHaveLength(1);

    controller.abort();

    expect(await running).toEqual({ content: 'Error: Aborted', isError: true });
    expect(gateway.calls).toMatchObject([{ abortedAtMs: 60_000, endedAtMs: 60_000 }]);
  });

  it('goes on after an abort when told to, and ends an aborted one early otherwise', async () => {
    const clock = new FakeClock();
    const gateway = new FakeGateway({
      clock,
      tools: {
        stubborn: { latencyMs: 1000, abortable: false, outcome: 'done anyway' },
        polite: { latencyMs: 1000, outcome: 'never' },
      },
    });
    const controller = new AbortController();
    const options = { ...OPTIONS, signal: controller.signal };
    const both = Promise.all([
      gateway.executeTool('voice:1', 'stubborn', {}, options),
      gateway.executeTool('voice:1', 'polite', {}, options),
    ]);
    await clock.advance(100);
    controller.abort();

    const [stubborn, polite] = await clock.drive(both);

    expect(stubborn.content).toBe('done anyway');
    expect(polite).toEqual({ content: 'Error: Aborted', isError: true });
    expect(gateway.calls.map(({ abortedAtMs, endedAtMs }) => [abortedAtMs, endedAtMs])).toEqual([
      [100, 1000],
      [100, 100],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not begin what was aborted before', async () => {
    const gateway = new FakeGateway({ clock: new FakeClock(), tools: { polite: 'never' } });

    const result = await gateway.executeTool(
      'voice:1',
      'polite',
      {},
      { ...OPTIONS, signal: AbortSignal.abort() },
    );

    expect(result.isError).toBe(true);
    expect(gateway.calls).toMatchObject([{ abortedAtMs: 0 }]);
  });
});
