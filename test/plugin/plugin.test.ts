/** The Agent Plugin's MCP server, built and started as nanobot starts it, over a running gateway. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildPlugin, PLUGIN_SERVER } from '../../scripts/build-plugin.ts';
import { type ApprovalSystem, createApprovals, OperatorSecret } from '../../src/approval/index.ts';
import { RealtimeVoiceChannel } from '../../src/channel/index.ts';
import { realClock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { pluginDataDirectory } from '../../src/server/index.ts';
import { MAX_FAILURES_PER_MINUTE } from '../../src/server/plugin/index.ts';
import { type FullStore, openStore } from '../../src/store/index.ts';

const OWN = `${'0'.repeat(31)}1`;
const OTHERS = `${'0'.repeat(31)}2`;
const FORGED = `${'0'.repeat(31)}3`;

let folder: string;
let dataDirectory: string;
let pluginData: string;
let store: FullStore;
let approvals: ApprovalSystem;
let channel: RealtimeVoiceChannel;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plugin-'));
  dataDirectory = join(folder, 'realtime');
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  pluginData = await pluginDataDirectory(dataDirectory, workspace);
  mkdirSync(pluginData, { recursive: true, mode: 0o700 });
  await buildPlugin(join(folder, 'package', 'dist'));
  writeFileSync(join(folder, 'package', 'plugin.json'), '{"version":"9.9.9"}');

  store = await openStore({ engine: 'sqlite', file: ':memory:' });
  const config = realtimeConfigSchema.parse({
    server: { port: 0 },
    model: { provider: 'command' },
    page: { ownerId: 'ada' },
    approvals: { toolGate: { requireApproval: ['delete_*'] } },
  });
  approvals = createApprovals({
    config: config.approvals,
    store,
    clock: realClock,
    logger: silentLogger,
    dataDirectory: null,
    locale: 'en-us',
    toolTimeoutMs: 1000,
    executor: 'local',
    recogniser: null,
  }) as ApprovalSystem;
  const call = { carrier: 'twilio', provider: 'x', startedAt: 1_000_000 };
  await store.beginCall({ ...call, id: OWN, sessionKey: 'realtime:ada', identityStrength: 'authenticated' });
  await store.beginCall({
    ...call,
    id: OTHERS,
    sessionKey: 'realtime:bob',
    identityStrength: 'authenticated',
  });
  // Who only claims to be the owner is not.
  await store.beginCall({ ...call, id: FORGED, sessionKey: 'realtime:ada', identityStrength: 'claimed' });
  for (const [index, callId] of [OWN, OTHERS, FORGED].entries()) {
    const sessionKey = callId === OTHERS ? 'realtime:bob' : 'realtime:ada';
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 1_000_000 + index });
    const tool = {
      callId: 'f',
      name: 'read_file',
      args: '{"path":"pin.txt"}',
      output: 'the pin',
      isError: false,
    };
    await store.commitTurn(callId, 1, {
      userText: `words of ${index}`,
      assistantText: 'Hello.',
      tools: [tool],
      finalAt: 1,
    });
    await store.endCall(callId, 1_060_000, 'caller_hangup');
  }
  await approvals.gate.check({
    sessionKey: 'cli:x',
    channel: 'cli',
    chatId: 'x',
    name: 'delete_file',
    args: { path: 'a.txt' },
  });
  channel = new RealtimeVoiceChannel(config, null, {
    parts: {
      logger: silentLogger,
      dataDirectory,
      env: {},
      store,
      operator: { approvals, secret: new OperatorSecret(dataDirectory) },
      plugin: { workspace },
    },
  });
  await channel.listen();
});

afterAll(async () => {
  await channel?.stop();
  await approvals?.close();
  await store?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the MCP server of the plugin', () => {
  const client = new Client({ name: 'test', version: '1' });

  beforeAll(async () => {
    const root = join(folder, 'package');
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(root, 'dist', PLUGIN_SERVER)],
        env: { PLUGIN_ROOT: root, PLUGIN_DATA: pluginData },
        stderr: 'pipe',
      }),
    );
  });
  afterAll(() => client.close());

  async function use(name: string, args: Record<string, unknown> = {}) {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [{ text } = { text: '' }] = content as { text: string }[];
    return { isError: isError === true, text };
  }

  it('offers three tools that read, and nothing that decides or dials', async () => {
    const { tools } = await client.listTools();

    expect(tools.map((tool) => tool.name)).toEqual([
      'list_calls',
      'read_call_transcript',
      'list_waiting_approvals',
    ]);
    expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true);
    expect(client.getServerVersion()?.version).toBe('9.9.9');
  });

  it('lists calls without saying who the others are', async () => {
    const { text } = await use('list_calls', { limit: 10 });

    const calls = (JSON.parse(text) as { calls: { id: string; caller: string }[] }).calls;
    expect(Object.fromEntries(calls.map(({ id, caller }) => [id, caller]))).toEqual({
      [OWN]: 'owner',
      [OTHERS]: 'other',
      [FORGED]: 'other',
    });
    expect(text).not.toMatch(/bob|ada/);
  });

  it('reads the owner’s own call: what was said, heard and run, but not what a tool gave', async () => {
    const { text } = await use('read_call_transcript', { call_id: OWN });

    expect(JSON.parse(text)).toMatchObject({
      turns: [{ caller: 'words of 0', agent: 'Hello.', tools: [{ name: 'read_file', failed: false }] }],
    });
    expect(text).not.toMatch(/the pin|words of [12]/);
  });

  it('says of another’s call, a forged one and one that there is not the very same', async () => {
    const answers = await Promise.all(
      [OTHERS, FORGED, 'f'.repeat(32)].map((call_id) => use('read_call_transcript', { call_id })),
    );

    expect(answers).toEqual(Array(3).fill({ isError: true, text: 'There is no such call of the owner’s.' }));
    expect((await use('read_call_transcript', { call_id: '../approvals' })).isError).toBe(true);
  });

  it('lists what waits for a person', async () => {
    const { text } = await use('list_waiting_approvals');

    expect(JSON.parse(text)).toEqual({
      waiting: [expect.objectContaining({ tool: 'delete_file', mode: 'deferred' })],
    });
  });

  it('keeps its token for this user alone, and so does the gateway its address', () => {
    for (const file of [join(pluginData, 'token'), join(dataDirectory, 'gateway.json')])
      expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('says that the gateway does not run when it does not', async () => {
    const file = join(dataDirectory, 'gateway.json');
    const before = readFileSync(file);
    const sayings: string[] = [];
    for (const url of ['http://127.0.0.1:1/', 'http://192.0.2.1/', 'nonsense']) {
      writeFileSync(file, JSON.stringify({ url }));
      sayings.push((await use('list_calls')).text.slice(0, 33));
    }
    writeFileSync(file, before);

    expect(sayings).toEqual(Array(3).fill('The voice gateway is not running.'));
  });
});

describe('the gateway’s interface for the plugin', () => {
  let token: string;
  beforeEach(() => {
    token = 'a'.repeat(43);
    writeFileSync(join(pluginData, 'token'), `${token}\n`, { mode: 0o600 });
    chmodSync(join(pluginData, 'token'), 0o600);
  });

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      const sent = request(new URL(path, channel.address ?? ''), { headers, method }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.end();
    });
  const bearer = (text = token) => ({ authorization: `Bearer ${text}` });

  it('lets in the token of now, and only it', async () => {
    const statuses = [
      await get('/plugin/api/calls', bearer()),
      await get('/plugin/api/calls'),
      await get('/plugin/api/calls', bearer('b'.repeat(43))),
      await get('/plugin/api/calls?token='.concat(token)),
    ];

    expect(statuses).toEqual([200, 401, 401, 401]);
  });

  it('does not believe a token that others on this machine can read', async () => {
    chmodSync(join(pluginData, 'token'), 0o644);

    expect(await get('/plugin/api/calls', bearer())).toBe(401);
  });

  it('is not there for what a proxy hands on', async () => {
    expect(await get('/plugin/api/calls', { ...bearer(), 'x-forwarded-for': '203.0.113.5' })).toBe(404);
  });

  it('takes nothing but reads', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
      expect(await get('/plugin/api/approvals', bearer(), method)).toBe(404);
  });

  it('lets nobody in for a while after many wrong tokens', async () => {
    const wrong = bearer('c'.repeat(43));
    await Promise.all(Array.from({ length: MAX_FAILURES_PER_MINUTE }, () => get('/plugin/api/calls', wrong)));

    expect(await get('/plugin/api/calls', bearer())).toBe(401);
  });
});
