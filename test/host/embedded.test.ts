import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { RealtimeVoiceChannel } from '../../src/channel/index.ts';
import { realClock } from '../../src/clock.ts';
import type { ToolGateway } from '../../src/gateway/index.ts';
import type { ChatFetch } from '../../src/host/chat/index.ts';
import { loadConfig } from '../../src/host/config/index.ts';
import { type ChannelClass, createEmbeddedHost, type EmbeddedHost } from '../../src/host/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';

const base = mkdtempSync(join(tmpdir(), 'embedded-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

let round = 0;
/** A host over a config file, as `start` makes one. */
async function open(
  file: object = {},
  { store, chatFetch, home }: { store?: Store; chatFetch?: ChatFetch; home?: string } = {},
): Promise<EmbeddedHost & { home: string; store: Store }> {
  round += 1;
  const folder = home ?? mkdtempSync(join(base, `${round}-`));
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify(file));
  const used = store ?? (await openStore({ engine: 'sqlite', file: ':memory:' }));
  if (!store) opened.push(() => used.close());
  const host = await createEmbeddedHost({
    config: await loadConfig({ path, home: folder, env: {} }),
    store: used,
    clock: realClock,
    logger: silentLogger,
    ...(chatFetch && { chatFetch }),
  });
  opened.push(() => host.close());
  return Object.assign(Object.create(host) as EmbeddedHost, { home: folder, store: used });
}

const run = (gateway: ToolGateway, name: string, args: object) =>
  gateway.executeTool('realtime:c1', name, args, { channel: 'realtime', chatId: 'c1' });

const speak = async (store: Store, callId: string, sessionKey: string, userText: string, isFinal = true) => {
  await store.beginCall({
    id: callId,
    sessionKey,
    carrier: 'wav',
    provider: 'command',
    identityStrength: 'none',
    startedAt: 1000,
  });
  await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 1000 });
  await store.commitTurn(callId, 1, {
    userText,
    assistantText: `heard ${userText}`,
    tools: [{ callId: 't', name: 'x', args: '{}', output: 'y', isError: false }],
    ...(isFinal && { finalAt: 2000 }),
  });
};

describe('the embedded host', () => {
  it('keeps the tokens of plugins from its tools, wherever those may read', async () => {
    const host = await open({ tools: { restrictToWorkspace: false } });
    for (const folder of ['plugin-data', 'elsewhere']) {
      mkdirSync(join(host.home, folder));
      writeFileSync(join(host.home, folder, 'token'), 'secret');
    }

    const [elsewhere, token] = await Promise.all(
      ['elsewhere', 'plugin-data'].map((folder) =>
        run(host.gateway, 'read_file', { path: join(host.home, folder, 'token') }),
      ),
    );

    expect([elsewhere?.isError, token?.isError]).toEqual([false, true]);
  });

  it('makes its folders, has the built-in tools but exec, and keeps its own files from them', async () => {
    const host = await open();
    writeFileSync(join(host.home, 'workspace', 'a.txt'), 'alpha');

    const names = host.gateway.getToolDefinitions().map((each) => each.function.name);
    expect(names).toContain('read_file');
    expect(names).toContain('send_message');
    expect(names).not.toContain('exec');
    expect((await run(host.gateway, 'read_file', { path: 'a.txt' })).content).toContain('alpha');
    for (const path of ['../config.json', '../realtime/sessions', join(host.home, 'config.json')]) {
      expect(await run(host.gateway, 'read_file', { path }), path).toMatchObject({ isError: true });
    }
  });

  it('keeps config and data folder from tools even without the workspace restriction', async () => {
    const recordings = mkdtempSync(join(base, 'recordings-'));
    const host = await open({
      tools: { restrictToWorkspace: false },
      providers: { openai: { apiKey: 'sk-secret' } },
      channels: { realtime: { recording: { directory: recordings } } },
    });
    writeFileSync(join(host.home, 'free.txt'), 'free');

    expect((await run(host.gateway, 'read_file', { path: join(host.home, 'free.txt') })).content).toContain(
      'free',
    );
    for (const path of [join(host.home, 'config.json'), join(host.home, 'realtime'), recordings]) {
      const results = [
        await run(host.gateway, 'read_file', { path }),
        await run(host.gateway, 'list_dir', { path }),
        await run(host.gateway, 'grep', { pattern: 'sk-', path }),
        await run(host.gateway, 'write_file', { path: join(path, 'x'), content: 'x' }),
      ];
      for (const result of results) expect(String(result.content)).not.toContain('sk-secret');
      expect(results[0]?.isError).toBe(true);
      expect(results[3]?.isError).toBe(true);
    }
  });

  it('answers text over HTTP with its tools, and the session remembers', async () => {
    const bodies: { messages: { role: string; content: string }[] }[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      bodies.push(JSON.parse(body));
      const call = { id: 'c', type: 'function', function: { name: 'list_dir', arguments: '{"path":"."}' } };
      const message = bodies.length === 1 ? { content: null, tool_calls: [call] } : { content: 'One file.' };
      response.end(JSON.stringify({ choices: [{ message }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    const host = await open({
      agents: { defaults: { model: 'local' } },
      providers: { custom: { apiBase: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` } },
    });
    writeFileSync(join(host.home, 'workspace', 'only.txt'), '');

    host.bus.publishInbound({
      channel: 'telegram',
      senderId: 's',
      chatId: 'c1',
      content: 'which files?',
      media: [],
      metadata: {},
    });
    const answer = await host.bus.consumeOutbound();

    expect(answer).toMatchObject({ channel: 'telegram', chatId: 'c1', content: 'One file.' });
    expect(bodies[1]?.messages.at(-1)?.content).toContain('only.txt');
    expect(host.textModel).toBe('local');
    expect(await host.history('telegram:c1', 10)).toEqual([
      { role: 'user', text: 'which files?' },
      { role: 'assistant', text: 'One file.' },
    ]);
  });

  it('repairs the sessions from the store at start, what a crash cut off included', async () => {
    const store = await openStore({ engine: 'sqlite', file: ':memory:' });
    opened.push(() => store.close());
    await speak(store, 'c1', 'realtime:c1', 'whole');
    await speak(store, 'c2', 'realtime:c2', 'cut', false);

    const host = await open({}, { store });

    expect(await host.history('realtime:c1', 1)).toEqual([{ role: 'assistant', text: 'heard whole' }]);
    expect(await host.history('realtime:c2', 10)).toHaveLength(2);
    expect((await store.getCall('c2'))?.endReason).toBe('crashed');
    expect(existsSync(join(host.home, 'realtime', 'sessions', 'cmVhbHRpbWU6YzI.jsonl'))).toBe(true);
    expect(await host.history('realtime:c1', 0)).toEqual([]);
  });

  it('projects turns while it runs: asked many times at once, each turn is there once', async () => {
    const host = await open();
    await speak(host.store, 'c1', 'realtime:c1', 'one');
    const runs = [host.projectTurns(), host.projectTurns()];
    await speak(host.store, 'c2', 'realtime:c1', 'two');

    await Promise.all([...runs, host.projectTurns(), host.projectTurns()]);

    const texts = (await host.history('realtime:c1', 10)).map((item) => item.text);
    expect(texts).toEqual(['one', 'heard one', 'two', 'heard two']);
  });

  it('gives the voice channel a gateway narrowed by its config, and nothing of itself', async () => {
    const host = await open({ channels: { realtime: { tools: { deny: ['write_*'] } } } });
    const given: { toolGateway: ToolGateway }[] = [];
    class Wired extends RealtimeVoiceChannel {
      constructor(...args: ConstructorParameters<typeof RealtimeVoiceChannel>) {
        super(...args);
        given.push(args[2] as { toolGateway: ToolGateway });
      }
    }
    // The real channel is such a class without importing anything from here: the compiler checks it.
    const channelClass: ChannelClass<ConstructorParameters<typeof RealtimeVoiceChannel>[0]> = Wired;

    host.channels.add(channelClass, {});

    const names = given[0]?.toolGateway.getToolDefinitions().map((each) => each.function.name);
    expect(names).toContain('edit_file');
    expect(names).not.toContain('write_file');
  });

  it('says in a coded error when its workspace can not be made', async () => {
    const file = join(base, 'a-file');
    writeFileSync(file, '');

    const made = open({ agents: { defaults: { workspace: join(file, 'workspace') } } });

    await expect(made).rejects.toMatchObject({ code: 'HOST_UNAVAILABLE' });
  });

  it('starts though an MCP server does not, and says how many are up', async () => {
    const host = await open({ tools: { mcpServers: { gone: { command: '/nonexistent' } } } });

    expect(host.mcpServers).toEqual({ up: 0, all: 1 });
  });

  it('has no persona where the workspace holds none, and the files of one that does', async () => {
    const host = await open();
    expect(await host.persona()).toBe('');

    writeFileSync(join(host.home, 'workspace', 'SOUL.md'), 'You are kind.');

    expect(await host.persona()).toContain('You are kind.');
  });

  it('closes once, takes nothing after that, and leaves the store open', async () => {
    const host = await open();

    await Promise.all([host.close(), host.close()]);

    expect(() =>
      host.bus.publishInbound({
        channel: 'a',
        senderId: 'b',
        chatId: 'c',
        content: '',
        media: [],
        metadata: {},
      }),
    ).toThrow(/closed/);
    await expect(host.store.ping()).resolves.toBeUndefined();
  });
});
