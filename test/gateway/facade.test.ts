import { describe, expect, it, vi } from 'vitest';
import { createToolGatewayFacade, type ToolDefinition, type ToolGateway } from '../../src/gateway/index.ts';

const NAMES = ['exec', 'read_file', 'write_file', 'mcp_home_lights', 'mcp_home_door.lock', 'mcp_mail_send'];
const definition = (name: string): ToolDefinition => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties: {} } },
});

function host() {
  const definitions = NAMES.map(definition);
  const gateway = {
    secret: 'the host',
    getToolDefinitions: vi.fn(() => definitions),
    executeTool: vi.fn<ToolGateway['executeTool']>(async () => ({ content: 'done', isError: false })),
  };
  return gateway;
}

const options = { channel: 'realtime' };

describe('the facade of the tool gateway', () => {
  it('passes a call of its own channel through, as it came', async () => {
    const gateway = host();
    const facade = createToolGatewayFacade(gateway, options);

    const result = await facade.executeTool('realtime:c1', 'read_file', '{"path":"a"}', {
      channel: 'realtime',
      chatId: 'c1',
    });

    expect(result).toEqual({ content: 'done', isError: false });
    expect(gateway.executeTool).toHaveBeenCalledExactlyOnceWith('realtime:c1', 'read_file', '{"path":"a"}', {
      channel: 'realtime',
      chatId: 'c1',
    });
  });

  it('hands an abort on', async () => {
    const gateway = host();
    const abort = new AbortController();
    gateway.executeTool.mockImplementation(async (_key, _name, _args, { signal }) => {
      abort.abort();
      return { content: String(signal?.aborted), isError: false };
    });

    const result = await createToolGatewayFacade(gateway, options).executeTool(
      'k',
      'exec',
      {},
      {
        ...options,
        signal: abort.signal,
      },
    );

    expect(result.content).toBe('true');
  });

  it.each(['websocket', 'telegram', 'Realtime', 'realtime ', '', undefined, null, 7])(
    'refuses a call under the name %o',
    async (channel) => {
      const gateway = host();
      const facade = createToolGatewayFacade(gateway, options);

      const result = await facade.executeTool('k', 'exec', {}, { channel: channel as string });

      expect(result).toMatchObject({
        isError: true,
        content: expect.stringContaining('GATEWAY_CHANNEL_REFUSED'),
      });
      expect(gateway.executeTool).not.toHaveBeenCalled();
    },
  );

  it('refuses websocket even to a channel that is called so', async () => {
    const gateway = host();
    const facade = createToolGatewayFacade(gateway, { channel: 'websocket' });

    const result = await facade.executeTool('k', 'exec', {}, { channel: 'websocket' });

    expect(result.isError).toBe(true);
    expect(gateway.executeTool).not.toHaveBeenCalled();
  });

  it('reads the channel once, so that a getter cannot change its mind after the check', async () => {
    const gateway = host();
    const answers = ['realtime', 'websocket', 'websocket'];
    const lying = Object.defineProperty({}, 'channel', { get: () => answers.shift() }) as { channel: string };

    await createToolGatewayFacade(gateway, options).executeTool('k', 'exec', {}, lying);

    expect(gateway.executeTool.mock.calls[0]?.[3].channel).toBe('realtime');
  });

  it.each([
    { allow: undefined, deny: undefined, seen: NAMES },
    { allow: ['*'], deny: [], seen: NAMES },
    { allow: [], deny: [], seen: [] },
    { allow: ['read_file', 'nothing'], deny: [], seen: ['read_file'] },
    { allow: ['*_file'], deny: ['write_*'], seen: ['read_file'] },
    { allow: ['mcp_home_*'], deny: [], seen: ['mcp_home_lights', 'mcp_home_door.lock'] },
    { allow: ['*'], deny: ['*'], seen: [] },
    { allow: ['read_file'], deny: ['read_file'], seen: [] },
    { allow: ['*'], deny: ['{exec,mcp_*}'], seen: ['read_file', 'write_file'] },
    { allow: ['READ_FILE', 'read', 'ead_file', 'read_file '], deny: [], seen: [] },
  ])(
    'shows and runs exactly $seen.length tools for allow $allow, deny $deny',
    async ({ allow, deny, seen }) => {
      const gateway = host();
      const facade = createToolGatewayFacade(gateway, {
        ...options,
        ...(allow && { allow }),
        ...(deny && { deny }),
      });

      const results = await Promise.all(NAMES.map((name) => facade.executeTool('k', name, {}, options)));

      expect(facade.getToolDefinitions().map((each) => each.function.name)).toEqual(seen);
      expect(NAMES.filter((_, index) => !results[index]?.isError)).toEqual(seen);
      expect(gateway.executeTool.mock.calls.map((call) => call[1])).toEqual(seen);
      for (const refused of results.filter((result) => result.isError)) {
        expect(refused.content).toContain('GATEWAY_TOOL_DENIED');
      }
    },
  );

  it.each([
    ['a session key that is no text', [7, 'exec', {}, options]],
    ['a name that is no text', ['k', { toString: () => 'exec' }, {}, options]],
    ['a chat id that is no text', ['k', 'exec', {}, { ...options, chatId: {} }]],
    ['no options', ['k', 'exec', {}]],
    ['arguments that are a function', ['k', 'exec', () => {}, options]],
    ['arguments that hold a function', ['k', 'exec', { path: () => {} }, options]],
    ['a signal that is none', ['k', 'exec', {}, { ...options, signal: { aborted: false } }]],
  ])('answers %s with an error result and never reaches the host', async (_what, args) => {
    const gateway = host();
    const facade = createToolGatewayFacade(gateway, options);

    const result = await Reflect.apply(facade.executeTool, undefined, args);

    expect(result).toMatchObject({ isError: true });
    expect(gateway.executeTool).not.toHaveBeenCalled();
  });

  it('never throws what the host threw', async () => {
    const gateway = host();
    const leak = Object.assign(new Error('the host broke'), { host: gateway });
    gateway.executeTool.mockRejectedValueOnce(leak);
    gateway.getToolDefinitions.mockImplementationOnce(() => {
      throw leak;
    });
    const facade = createToolGatewayFacade(gateway, options);

    const result = await facade.executeTool('k', 'exec', {}, options);

    expect(result).toEqual({ content: 'Error: HOST_UNAVAILABLE: the tool could not be run.', isError: true });
    expect(facade.getToolDefinitions()).toEqual([]);
  });
});
