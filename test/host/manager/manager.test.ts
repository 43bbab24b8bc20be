import { describe, expect, it, vi } from 'vitest';
import { VoiceError } from '../../../src/errors.ts';
import type { ToolGateway } from '../../../src/gateway/index.ts';
import { MessageBus, type OutboundMessage } from '../../../src/host/bus/index.ts';
import {
  CHANNEL_STOP_TIMEOUT_MS,
  ChannelManager,
  isAllowed,
  MAX_CHANNEL_BACKLOG,
  MAX_CHANNELS,
} from '../../../src/host/manager/index.ts';
import { silentLogger } from '../../../src/observe/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';

const built: { args: unknown[] }[] = [];

/** A channel that blocks in `start` until it is stopped, as nanobot's do. */
class PlainChannel {
  static readonly channelName: string = 'plain';
  readonly sent: string[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  starts = 0;
  stops = 0;

  constructor(...args: unknown[]) {
    built.push({ args });
  }

  start(): Promise<void> {
    this.starts += 1;
    return this.#stopped.promise;
  }

  async stop(): Promise<void> {
    this.stops += 1;
    this.#stopped.resolve();
  }

  async send(message: OutboundMessage): Promise<void> {
    this.sent.push(message.content);
  }
}

class OptedIn extends PlainChannel {
  static override readonly channelName: string = 'voice';
  static readonly wantsToolGateway = true;
}

const gateway: ToolGateway = {
  getToolDefinitions: () =>
    ['read_file', 'exec'].map((name) => ({
      type: 'function',
      function: { name, description: '', parameters: {} },
    })),
  executeTool: async (_key, name) => ({ content: name, isError: false }),
};

function manage(options: Partial<ConstructorParameters<typeof ChannelManager>[0]> = {}) {
  const bus = new MessageBus();
  const clock = new FakeClock();
  const manager = new ChannelManager({ bus, clock, logger: silentLogger, ...options });
  const publish = (channel: string, content: string) =>
    bus.publishOutbound({ channel, chatId: 'c', content, media: [], metadata: {} });
  const argsOf = () => built.at(-1)?.args ?? [];
  return { bus, clock, manager, publish, argsOf };
}

const flush = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

describe('the wiring of channels', () => {
  it('gives a channel that opts in a gateway, bound to its own name', async () => {
    const { manager, bus, argsOf } = manage({ agentLoop: gateway });
    const config = { a: 1 };

    manager.add(OptedIn, config);

    const [given, givenBus, extras] = argsOf();
    expect([given, givenBus]).toEqual([config, bus]);
    const { toolGateway } = extras as { toolGateway: ToolGateway };
    expect(Object.keys(extras as object)).toEqual(['toolGateway']);
    expect(toolGateway).not.toBe(gateway);
    expect(await toolGateway.executeTool('voice:c', 'exec', {}, { channel: 'voice' })).toEqual({
      content: 'exec',
      isError: false,
    });
    expect((await toolGateway.executeTool('plain:c', 'exec', {}, { channel: 'plain' })).isError).toBe(true);
    expect((await toolGateway.executeTool('voice:c', 'exec', {}, { channel: 'websocket' })).isError).toBe(
      true,
    );
  });

  it('builds a channel that does not opt in with the config and the bus exactly as before', () => {
    const { manager, bus, argsOf } = manage({ agentLoop: gateway });

    manager.add(PlainChannel, { a: 1 });

    expect(argsOf()).toHaveLength(2);
    expect(argsOf()).toEqual([{ a: 1 }, bus]);
  });

  it.each([[null], [undefined]])('gives nobody a gateway while no host is wired (%s)', (agentLoop) => {
    const { manager, argsOf } = manage(agentLoop === undefined ? {} : { agentLoop });

    manager.add(OptedIn, {});

    expect(argsOf()).toHaveLength(2);
  });

  it.each([[false], ['yes'], [1], [undefined]])(
    'takes only true for opting in, not %s',
    (wantsToolGateway) => {
      const { manager, argsOf } = manage({ agentLoop: gateway });

      manager.add(
        Object.assign(class extends PlainChannel {}, { wantsToolGateway }) as typeof PlainChannel,
        {},
      );

      expect(argsOf()).toHaveLength(2);
    },
  );

  it("narrows a channel's gateway by what its config allows and denies", () => {
    const { manager, argsOf } = manage({ agentLoop: gateway, tools: { voice: { deny: ['ex*'] } } });

    manager.add(OptedIn, {});

    const { toolGateway } = argsOf()[2] as { toolGateway: ToolGateway };
    expect(toolGateway.getToolDefinitions().map((each) => each.function.name)).toEqual(['read_file']);
  });

  it.each([['websocket'], [''], ['has-hyphen'], ['1st'], ['a b']])(
    'refuses a channel called %j',
    (channelName) => {
      const { manager } = manage();
      const named = Object.assign(class extends PlainChannel {}, { channelName });

      expect(() => manager.add(named, {})).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    },
  );

  it('refuses a name that is taken, and more channels than its bound', () => {
    const { manager } = manage();
    manager.add(PlainChannel, {});

    expect(() => manager.add(PlainChannel, {})).toThrow(/there already/);
    for (let index = 1; index < MAX_CHANNELS; index += 1) {
      manager.add(Object.assign(class extends PlainChannel {}, { channelName: `c${index}` }), {});
    }
    expect(() => manager.add(OptedIn, {})).toThrow(/too many/);
  });
});

describe('the life of channels', () => {
  it('runs them until they are stopped, once each', async () => {
    const { manager } = manage();
    const channel = manager.add(PlainChannel, {}) as PlainChannel;
    expect(manager.getStatus()).toEqual({ plain: { state: 'idle', error: null } });

    manager.startAll();
    manager.startAll();
    expect(manager.getStatus().plain?.state).toBe('running');
    await Promise.all([manager.stopAll(), manager.stopAll()]);
    await manager.stopAll();

    expect(manager.getStatus()).toEqual({ plain: { state: 'stopped', error: null } });
    expect([channel.starts, channel.stops]).toEqual([1, 1]);
  });

  it('shows a channel that fails, with its code, and lets the others run', async () => {
    const { manager } = manage();
    class Broken extends OptedIn {
      static override readonly channelName = 'broken';
      override start(): Promise<void> {
        return Promise.reject(new VoiceError('ADDRESS_IN_USE', 'The port is taken.'));
      }
    }
    class Leaky extends OptedIn {
      static override readonly channelName = 'leaky';
      override start(): Promise<void> {
        throw new Error('secret details');
      }
    }
    for (const each of [Broken, Leaky, PlainChannel]) manager.add(each, {});

    manager.startAll();
    await flush();

    expect(manager.getStatus()).toEqual({
      broken: { state: 'failed', error: 'ADDRESS_IN_USE: The port is taken.' },
      leaky: { state: 'failed', error: 'it failed; see the log' },
      plain: { state: 'running', error: null },
    });
    await manager.stopAll();
  });

  it('waits for a channel that hangs only so long, and survives one that fails to stop', async () => {
    const { manager, clock } = manage();
    class Hangs extends PlainChannel {
      override stop(): Promise<void> {
        return new Promise(() => {});
      }
    }
    class Throws extends OptedIn {
      override async stop(): Promise<void> {
        await super.stop();
        throw new Error('no');
      }
    }
    manager.add(Hangs, {});
    manager.add(Throws, {});
    manager.startAll();
    const startedAt = clock.now();

    await clock.drive(manager.stopAll());

    expect(clock.now() - startedAt).toBe(CHANNEL_STOP_TIMEOUT_MS);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the dispatch of messages', () => {
  it('takes each message to its channel, in order, and drops those for nobody', async () => {
    const { manager, publish } = manage();
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    const voice = manager.add(OptedIn, {}) as OptedIn;
    manager.startAll();

    for (const [channel, text] of [
      ['plain', '1'],
      ['voice', '2'],
      ['nobody', '3'],
      ['plain', '4'],
    ] as const) {
      publish(channel, text);
    }
    await flush();

    expect([plain.sent, voice.sent]).toEqual([['1', '4'], ['2']]);
    await manager.stopAll();
  });

  it('sends again after 1, 2 and 4 s, then gives the message up and goes on with the next', async () => {
    const { manager, clock, publish } = manage();
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    const times: number[] = [];
    const startedAt = clock.now();
    const send = vi.spyOn(plain, 'send').mockImplementation(async ({ content }) => {
      times.push(clock.now() - startedAt);
      if (content === 'bad') throw new Error('not now');
      plain.sent.push(content);
    });
    manager.startAll();

    publish('plain', 'bad');
    publish('plain', 'good');
    await clock.waitFor('the second message', () => plain.sent.includes('good'));

    expect(times).toEqual([0, 1000, 3000, 7000, 7000]);
    expect(send).toHaveBeenCalledTimes(5);
    await manager.stopAll();
  });

  it.each([
    [0, [0]],
    [5, [0, 1000, 3000, 7000, 11_000, 15_000]],
  ])('tries again %i times where the config says so', async (sendMaxRetries, expected) => {
    const { manager, clock, publish } = manage({ sendMaxRetries });
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    const times: number[] = [];
    vi.spyOn(plain, 'send').mockImplementation(async () => {
      times.push(clock.now());
      throw new Error('no');
    });
    manager.startAll();

    publish('plain', 'x');
    await clock.waitFor('the last try', () => times.length === expected.length);
    await flush();

    expect(times.map((time) => time - (times[0] ?? 0))).toEqual(expected);
    await manager.stopAll();
  });

  it('lets no slow channel delay another', async () => {
    const { manager, publish } = manage();
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    const voice = manager.add(OptedIn, {}) as OptedIn;
    vi.spyOn(plain, 'send').mockImplementation(() => new Promise(() => {}));
    manager.startAll();

    publish('plain', 'hangs');
    publish('voice', 'arrives');
    await flush();

    expect(voice.sent).toEqual(['arrives']);
    await manager.stopAll();
  });

  it('keeps a bounded number of messages for a channel that does not take them', async () => {
    const { manager, publish } = manage();
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    const gate = Promise.withResolvers<void>();
    vi.spyOn(plain, 'send').mockImplementation(async ({ content }) => {
      await gate.promise;
      plain.sent.push(content);
    });
    manager.startAll();
    for (let index = 0; index < MAX_CHANNEL_BACKLOG + 10; index += 1) publish('plain', `${index}`);
    await vi.waitFor(() => expect(plain.send).toHaveBeenCalled());
    await new Promise((resolve) => setImmediate(resolve));

    gate.resolve();
    await vi.waitFor(() => expect(plain.sent).toHaveLength(MAX_CHANNEL_BACKLOG + 1));

    expect(plain.sent.at(-1)).toBe(`${MAX_CHANNEL_BACKLOG}`);
    await manager.stopAll();
  });

  it('stops retrying when the host stops', async () => {
    const { manager, clock, publish } = manage();
    const plain = manager.add(PlainChannel, {}) as PlainChannel;
    vi.spyOn(plain, 'send').mockRejectedValue(new Error('no'));
    manager.startAll();
    publish('plain', 'x');
    await flush();
    expect(clock.pendingTimers).toBe(1);

    await manager.stopAll();
    await flush();

    expect(clock.pendingTimers).toBe(0);
  });
});

describe('who may use a channel', () => {
  it.each([
    [['*'], 'anyone', true],
    [['a', 'b'], 'b', true],
    [['a', '*'], 'c', true],
    [['a'], 'A', false],
    [['a'], 'ab', false],
    [['a*'], 'ab', false],
    [[], 'a', false],
    [[''], 'a', false],
  ])('%j lets %s in: %s', (allowFrom, sender, allowed) => {
    expect(isAllowed(allowFrom, sender)).toBe(allowed);
  });
});
