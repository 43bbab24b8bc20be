import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { GateDesk } from '../../src/bridge/gate-desk.ts';
import type { GatedCall } from '../../src/gateway/index.ts';
import type { Execution, GateCheck } from '../../src/gateway/remote/index.ts';

const permission = new AsyncLocalStorage<string>();

function setUp() {
  const asked: (GatedCall & { permission: string | undefined })[] = [];
  const executions = new Map<string, Execution>();
  const asking = {
    sessionKey: 'realtime:ada',
    channel: 'realtime',
    chatId: 'ada',
    callId: 'c1',
    toolCallId: 'f1',
  };
  const desk = new GateDesk({
    gate: {
      gate: {
        concerns: (name) => name === 'delete_file',
        async check(call) {
          asked.push({ ...call, permission: permission.getStore() });
          return { run: false, result: { content: 'staged', isError: false } };
        },
      },
      isCommand: (content) => content.startsWith('/approve'),
      command: async ({ senderId }) => (senderId === '77' ? 'Approved.' : 'You may not.'),
    },
    gateway: { execution: (id) => executions.get(id) },
    bus: { callOf: (mark) => (mark === 'r1' ? asking : null) },
    sessionOf: async (callId) => (callId === 'c1' ? 'realtime:ada' : null),
  });
  const check = (more: Partial<GateCheck>) =>
    desk.check({
      sessionKey: 'cli:x',
      channel: 'cli',
      chatId: 'x',
      name: 'delete_file',
      arguments: { path: 'a' },
      ...more,
    });
  return { desk, check, asked, executions };
}

describe('a host’s question whether a tool may run', () => {
  it('from within an execution of ours is about what we know of it, whatever the host says', async () => {
    const { check, asked, executions } = setUp();
    permission.run('token', () => {
      executions.set('e1', {
        id: 'e1',
        sessionKey: 'realtime:ada',
        name: 'delete_file',
        options: { channel: 'realtime', chatId: 'ada', callId: 'c1', toolCallId: 'f1' },
        within: AsyncLocalStorage.snapshot(),
      });
    });

    const answer = await check({ executionId: 'e1', sessionKey: 'realtime:other', chatId: 'other' });

    expect(answer).toEqual({ run: false, output: 'staged', isError: false });
    expect(asked).toEqual([
      {
        sessionKey: 'realtime:ada',
        channel: 'realtime',
        chatId: 'ada',
        callId: 'c1',
        toolCallId: 'f1',
        name: 'delete_file',
        args: { path: 'a' },
        permission: 'token',
      },
    ]);
  });

  it('from within one that is over is refused, so that nothing that was cancelled runs on', async () => {
    const { check, asked } = setUp();

    expect(await check({ executionId: 'gone', name: 'read_file' })).toMatchObject({
      run: false,
      isError: true,
    });
    expect(asked).toEqual([]);
  });

  it('from a turn of the agent’s that a call asked for is about that call', async () => {
    const { check, asked } = setUp();

    await check({ request: 'r1' });

    expect(asked).toMatchObject([
      { sessionKey: 'realtime:ada', chatId: 'ada', callId: 'c1', toolCallId: 'f1' },
    ]);
  });

  it('from anywhere else is about the session it names, and no call is asked', async () => {
    const { check, asked } = setUp();

    await check({ request: 'made up', toolCallId: 't9' });

    expect(asked).toMatchObject([{ sessionKey: 'cli:x', channel: 'cli', chatId: 'x', toolCallId: 't9' }]);
    expect(asked[0]).not.toHaveProperty('callId');
  });

  it('costs nothing for a tool that the gate has nothing to say about', async () => {
    const { check, asked } = setUp();

    expect(await check({ name: 'read_file' })).toEqual({ run: true });
    expect(asked).toEqual([]);
  });

  it('is decided by whoever may, and by nothing that is no command', async () => {
    const { desk } = setUp();
    const message = { channel: 'telegram', chatId: '7', senderId: '77' };

    expect(await desk.decide({ ...message, content: '/approve 1' })).toBe('Approved.');
    expect(await desk.decide({ ...message, content: 'yes' })).toBeNull();
  });

  it('from a later step of the agent’s names the call that it is for, where our record has it in that session', async () => {
    const { check, asked } = setUp();
    const later = { channel: 'realtime', sessionKey: 'realtime:ada', chatId: 'ada', request: 'over' };

    await check({ ...later, call: 'c1' });
    await check({ ...later, call: 'c2' });
    await check({ ...later, call: 'c1', sessionKey: 'realtime:eve', chatId: 'eve' });
    await check({ ...later, call: 'c1', channel: 'telegram' });

    expect(asked.map(({ callId }) => callId)).toEqual(['c1', undefined, undefined, undefined]);
  });
});
