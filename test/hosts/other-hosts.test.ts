import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentLoop, ChannelManager, type Config, type LLMProvider, MessageBus } from '@jcheesepkg/nanobot';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import type { RealtimeConfigInput, RealtimeVoiceChannel } from '../../src/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { addVoice } from './jcheesepkg.ts';
import { addVoice as addVoiceToNanobotTs, type Runtime } from './nanobot-ts.ts';

const AUTH_TOKEN = 'hosts-auth-token';
const API_KEY = 'hosts-api-key';
const guide = readFileSync(new URL('../../docs/guides/other-hosts.md', import.meta.url), 'utf8');

let folder: string;
let channel: RealtimeVoiceChannel | null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  channel = null;
  // Where the channel keeps what it keeps.
  vi.stubEnv('HOME', folder);
  for (const method of ['log', 'warn', 'error'] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(async () => {
  await channel?.stop();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

it.each(['jcheesepkg.ts', 'nanobot-ts.ts'])('the guide shows %s as it is tested', (name) => {
  const code = readFileSync(new URL(name, import.meta.url), 'utf8');

  expect(guide).toContain(code.replace("'../../src/index.ts'", "'nanobot-channel-realtime'").trim());
});

const phoneConfig = async (
  model: FakeModel,
  more: RealtimeConfigInput = {},
): Promise<RealtimeConfigInput> => ({
  server: { port: 0 },
  model: { provider: 'openai-compatible', baseUrl: await model.listen(), apiKey: API_KEY },
  carriers: { twilio: { authToken: AUTH_TOKEN } },
  greeting: '',
  logLevel: 'silent',
  ...more,
});

function phone({ address }: RealtimeVoiceChannel, frames: number) {
  const audioFile = join(folder, 'caller.ulaw');
  writeFileSync(audioFile, encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
  return placeOutsideCall({ url: address ?? '', authToken: AUTH_TOKEN, audioFile, frames, callSid: 'CA01' });
}

const outputsOf = (model: FakeModel) =>
  model.session
    .receivedOf('conversation.item.create')
    .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));

describe('the npm nanobot', () => {
  function nanobot(answers: string[] = []) {
    const workspace = join(folder, 'workspace');
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'plan.txt'), 'Paint the kitchen.');
    const provider: LLMProvider = {
      chat: async () => ({ content: answers.shift() ?? '', toolCalls: [], hasToolCalls: false }),
      getDefaultModel: () => 'test',
    };
    const bus = new MessageBus();
    const loop = new AgentLoop({ bus, provider, workspace, restrictToWorkspace: true });
    const config = { channels: { telegram: { enabled: false }, line: { enabled: false } } } as Config;
    return { workspace, bus, loop, manager: new ChannelManager(config, bus) };
  }

  it('runs its own tools on a call, guards and all, and speaks what it sends', async () => {
    const { workspace, loop, bus, manager } = nanobot();
    const model = new FakeModel({ apiKey: API_KEY }).onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('It says paint the kitchen.', { durationMs: 600 })];
      if (trigger !== 'speech') return [];
      return [
        call('read_file', { path: join(workspace, 'plan.txt') }),
        call('read_file', { path: '/etc/passwd' }),
        call('message', { content: 'A message to the caller.' }),
      ];
    });
    channel = addVoice(loop, manager, await phoneConfig(model, { tools: { deny: ['exec'] } }));
    const life = manager.startAll();
    await channel.listen();

    const heard = await phone(channel, 220);

    const outputs = outputsOf(model);
    expect(outputs[0]).toBe('Paint the kitchen.');
    expect(outputs[1]).toMatch(/^Error: Access denied/);
    expect(outputs[2]).toMatch(/^Message sent to realtime:[0-9a-f]{32}$/);
    expect(heard.heardBytes).toBeGreaterThan(4000);
    const [update] = model.session.receivedOf('session.update');
    const names = (update?.session.tools ?? []).map((tool) => ('name' in tool ? tool.name : ''));
    expect(names).toContain('read_file');
    expect(names).not.toContain('exec');
    expect(bus.outboundSize).toBe(0);
    await manager.stopAll();
    await life;
    await model.close();
  });

  it('answers a whole request with its own loop and session', async () => {
    const { loop, manager } = nanobot(['The key is under the pot.']);
    const model = new FakeModel({ apiKey: API_KEY }).onTurn(({ trigger, toolOutputs }) =>
      trigger === 'speech' && toolOutputs.length === 0
        ? [call('ask_agent', { request: 'Where is the key?' })]
        : [],
    );
    channel = addVoice(loop, manager, await phoneConfig(model, { tools: { mode: 'delegate' } }));
    await channel.listen();

    await phone(channel, 150);

    expect(outputsOf(model)).toEqual(['The key is under the pot.']);
    const [session] = loop.sessions.listSessions();
    expect(session?.key).toMatch(/^realtime/);
    await model.close();
  });
});

describe('a nanobot-ts', () => {
  it('gives its tools with their schemas, and runs them with channel and chat', async () => {
    const ran: unknown[] = [];
    const registered: string[] = [];
    const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    const runtime: Runtime = {
      tools: {
        getToolNames: () => ['read_file'],
        get: (name) => (name === 'read_file' ? { description: 'Reads a file.', parameters } : undefined),
        async execute(name, params, context) {
          ran.push({ name, params, context });
          return name === 'read_file' ? 'numbers' : 'Error: Tool not found';
        },
      },
      channelManager: { registerChannel: (name) => registered.push(name) },
    };
    const model = new FakeModel({ apiKey: API_KEY }).onTurn(({ trigger }) =>
      trigger === 'speech' ? [call('read_file', { path: 'a.txt' })] : [],
    );
    channel = await addVoiceToNanobotTs(runtime, await phoneConfig(model));

    await phone(channel, 150);

    expect(registered).toEqual(['realtime']);
    expect(ran).toEqual([
      {
        name: 'read_file',
        params: { path: 'a.txt' },
        context: { channel: 'realtime', chatId: expect.stringMatching(/^[0-9a-f]{32}$/) },
      },
    ]);
    await model.close();
  });
});
