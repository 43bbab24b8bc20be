import { describe, expect, it } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import { runGuarded } from '../../../src/gateway/index.ts';
import type { OutboundMessage } from '../../../src/host/bus/index.ts';
import { FileStateStore, SsrfPolicy, WorkspacePolicy } from '../../../src/host/guards/index.ts';
import { ToolRegistry } from '../../../src/host/registry.ts';
import { isConcurrencySafe } from '../../../src/host/registry-tool.ts';
import { currentTimeTool, describeTime } from '../../../src/host/tools/current-time.ts';
import { createBuiltinTools } from '../../../src/host/tools/index.ts';
import { MAX_MESSAGE_CHARS, sendMessageTool } from '../../../src/host/tools/send-message.ts';

const policy = new WorkspacePolicy({ workspace: '/nowhere' });
const ssrf = new SsrfPolicy();

describe('the built-in tools', () => {
  const names = (options = {}) => createBuiltinTools({ policy, ssrf, ...options }).map((tool) => tool.name);
  const files = ['read_file', 'write_file', 'edit_file', 'list_dir', 'find_files', 'grep'];

  it('are what the config switches on; exec only when it says so', () => {
    expect(names()).toEqual([...files, 'web_fetch', 'current_time']);
    expect(names({ exec: { enable: true } })).toEqual([...files, 'exec', 'web_fetch', 'current_time']);
    expect(names({ file: { enable: false }, web: { enable: false } })).toEqual(['current_time']);
    expect(names({ publishOutbound: () => {} }).at(-1)).toBe('send_message');
  });

  it('take no parameter that they do not name', async () => {
    const registry = new ToolRegistry();
    const tools = createBuiltinTools({ policy, ssrf, exec: { enable: true }, publishOutbound: () => {} });
    for (const tool of tools) registry.register(tool);

    for (const { function: definition } of registry.getDefinitions()) {
      expect(definition.parameters).toMatchObject({ type: 'object', additionalProperties: false });
      expect((await registry.execute(definition.name, { bogus: 1 })).content).toContain(
        'unexpected parameter bogus',
      );
    }
  });

  it('run beside each other only when they change nothing', () => {
    const tools = createBuiltinTools({ policy, ssrf, exec: { enable: true }, publishOutbound: () => {} });

    expect(tools.filter((tool) => !isConcurrencySafe(tool)).map((tool) => tool.name)).toEqual([
      'write_file',
      'edit_file',
      'exec',
      'send_message',
    ]);
  });
});

describe('current_time', () => {
  const summer = Date.UTC(2026, 7, 23, 12, 5);

  it('tells date, time, weekday, zone and offset', () => {
    expect(describeTime(summer, 'Europe/Paris')).toBe('2026-08-23 14:05 (Sunday) (Europe/Paris, UTC+02:00)');
    expect(describeTime(summer, 'UTC')).toBe('2026-08-23 12:05 (Sunday) (UTC, UTC+00:00)');
    expect(describeTime(Date.UTC(2026, 0, 1), 'Asia/Kolkata')).toBe(
      '2026-01-01 05:30 (Thursday) (Asia/Kolkata, UTC+05:30)',
    );
    expect(describeTime(Date.UTC(2026, 0, 1), 'America/New_York')).toContain('2025-12-31 19:00 (Wednesday)');
  });

  it('uses the clock, the zone asked for, and says when there is no such zone', async () => {
    const registry = new ToolRegistry();
    registry.register(currentTimeTool({ ...realClock, wallNow: () => summer }, 'Europe/Paris'));

    expect((await registry.execute('current_time', '')).content).toContain('14:05');
    expect((await registry.execute('current_time', { timezone: 'Asia/Tokyo' })).content).toContain('21:05');
    expect(await registry.execute('current_time', { timezone: 'Mars/Base' })).toMatchObject({
      content: expect.stringMatching(/^Error: Unknown timezone: Mars\/Base/),
      isError: true,
    });
  });
});

describe('send_message', () => {
  function setUp(publish: (message: OutboundMessage) => Promise<void> | void = () => {}) {
    const registry = new ToolRegistry();
    const sent: OutboundMessage[] = [];
    registry.register(
      sendMessageTool(async (message) => {
        await publish(message);
        sent.push(message);
      }),
    );
    const call = (args: unknown) =>
      runGuarded(
        {
          fileStates: new FileStateStore().forSession('s'),
          request: {
            channel: 'chat',
            chatId: 'c1',
            messageId: 'm1',
            sessionKey: 'chat:c1',
            metadata: { thread: 7 },
          },
          workspaceScope: { workspace: '/', restrictToWorkspace: true, sourceChannel: null },
        },
        () => registry.execute('send_message', args),
      );
    return { registry, sent, call };
  }

  it('goes to the current chat as an answer to its message, and to another one without its metadata', async () => {
    const { sent, call } = setUp();

    await call({ content: 'hi' });
    await call({ content: 'hi', chat_id: 'c2' });

    expect(sent).toEqual([
      { channel: 'chat', chatId: 'c1', content: 'hi', media: [], metadata: { thread: 7, message_id: 'm1' } },
      { channel: 'chat', chatId: 'c2', content: 'hi', media: [], metadata: {} },
    ]);
  });

  it('says "sent" only when the bus took it', async () => {
    const { sent, call } = setUp(() => {
      throw new Error('the bus is full');
    });

    expect(await call({ content: 'hi' })).toMatchObject({
      content: expect.stringMatching(/^Error sending message: the bus is full/),
      isError: true,
    });
    expect(sent).toEqual([]);
  });

  it('wants a target and some text, not too much of it', async () => {
    const { registry, call } = setUp();

    expect((await registry.execute('send_message', { content: 'hi' })).content).toContain(
      'Error: No target channel/chat specified',
    );
    expect((await call({ content: '' })).content).toContain('content must be at least 1 chars');
    expect((await call({ content: 'x'.repeat(MAX_MESSAGE_CHARS + 1) })).content).toContain('must be at most');
  });
});

describe('a thousand calls at once, in as many sessions', () => {
  it('each see their own session, chat and workspace', async () => {
    const registry = new ToolRegistry();
    const sent: OutboundMessage[] = [];
    registry.register(
      sendMessageTool(async (message) => {
        await new Promise((resolve) => setImmediate(resolve));
        sent.push(message);
      }),
    );
    const store = new FileStateStore();

    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, index) =>
        runGuarded(
          {
            fileStates: store.forSession(`s${index}`),
            request: {
              channel: 'chat',
              chatId: `c${index}`,
              messageId: null,
              sessionKey: `chat:c${index}`,
              metadata: { index },
            },
            workspaceScope: { workspace: `/w${index}`, restrictToWorkspace: true, sourceChannel: null },
          },
          async () => {
            if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
            const result = await registry.execute('send_message', { content: String(index) });
            return { result, root: (await policy.view('read')).workspace };
          },
        ),
      ),
    );

    results.forEach(({ result, root }, index) => {
      expect(result.content).toBe(`Message sent to chat:c${index}`);
      expect(root).toBe(`/w${index}`);
    });
    for (const { chatId, content, metadata } of sent) {
      expect([chatId, metadata]).toEqual([`c${content}`, { index: Number(content) }]);
    }
    expect(sent).toHaveLength(1000);
  });
});
