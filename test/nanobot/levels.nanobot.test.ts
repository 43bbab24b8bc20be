/**
 * Calls that the real nanobot answers, at each level of tool access: with its own tools, its own guards, its own agent and
 * its own sessions.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANSWER, realtimeSection, SAID } from './caller.ts';
import { freePort, NanobotGateway, NanobotHome, processesOf, type SessionRow } from './nanobot.ts';
import { NanobotRig, NOTE } from './rig.ts';

/** Who calls, and so whose chat it is. */
const CALLER = '+15550100';
const FILE_ANSWER = 'The agent read it: third flower pot.';

let rig: NanobotRig;
let { voice, text, home, gateway, web, url } = {} as NanobotRig;

async function start(realtime: Record<string, unknown>, defaults: Record<string, unknown> = {}) {
  rig = await NanobotRig.start({ realtime, defaults });
  ({ voice, text, home, gateway, web, url } = rig);
}

async function stop(): Promise<void> {
  await rig.stop();
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
}

const rowsOf = (rows: readonly SessionRow[] = []) => rows.map(({ role, content }) => [role, content]);

describe('toolAccess "full": the live agent', () => {
  beforeAll(() =>
    start(
      {
        toolAccess: 'full',
        tools: { mode: 'both' },
        identity: { personSession: 'claimed' },
        approvals: {
          toolGate: {
            requireApproval: ['write_file'],
            approvers: [{ name: 'ann', senders: ['websocket:ann'] }],
          },
        },
      },
      { unifiedSession: true },
    ),
  );
  afterAll(() => rig.remove());

  it('is listed and running', async () => {
    expect(home.run('plugins', 'list')).toMatch(/realtime.*(yes|enabled|✓)/i);
    const feature = await web.feature('realtime');
    expect(feature).toMatchObject({ enabled: true, runtime_status: 'running', running: true, ready: true });
  });

  it("runs nanobot's own tools, and its guards refuse in their own words", async () => {
    const { outputs, call } = await voice.place(
      home,
      url,
      'CA0A1',
      [
        { name: 'read_file', args: { path: 'note.txt' } },
        { name: 'read_file', args: { path: '../../etc/passwd' } },
        { name: 'web_fetch', args: { url: 'http://127.0.0.1:1/' } },
      ],
      260,
    );

    expect(call.upgradeStatus).toBe(101);
    expect(outputs[0]).toContain(NOTE);
    expect(outputs[1]).toBe(
      `Error: Path ../../etc/passwd is outside allowed directory ${home.workspace} (this is a hard policy boundary, not a ` +
        'transient failure; do not retry with shell tricks or alternative tools, and ask the user how to proceed if the ' +
        'resource is genuinely required)\n\n[Analyze the error above and try a different approach.]',
    );
    expect(outputs[2]).toContain('resolves to private/internal address 127.0.0.1');
    expect(voice.toolNames).toEqual(
      expect.arrayContaining(['exec', 'my', 'read_file', 'spawn', 'ask_agent']),
    );
    expect(call.heardBytes).toBeGreaterThan(2000);
  });

  it('hands a whole request to the agent, whose own turn meets the gate: nothing is written', async () => {
    text.willSay(
      { tool: 'read_file', args: { path: 'note.txt' } },
      { tool: 'write_file', args: { path: 'evil.txt', content: 'x' } },
      { text: FILE_ANSWER },
    );
    const before = text.asked.length;

    const { outputs } = await voice.place(
      home,
      url,
      'CA0A2',
      [{ name: 'ask_agent', args: { request: 'Read my note and write evil.txt' } }],
      450,
    );

    expect(outputs).toEqual([FILE_ANSWER]);
    expect(text.asked.length - before).toBe(3);
    expect(JSON.stringify(text.asked.at(-1)?.messages)).toContain(NOTE);
    expect(existsSync(join(home.workspace, 'evil.txt'))).toBe(false);
    // What waits names the call that the agent did it for.
    const [admitted] = [...gateway.output.matchAll(/incoming call admitted {"callId": "(\w+)"/g)].slice(-1);
    const store = new DatabaseSync(join(home.data, 'realtime', 'realtime.db'), { readOnly: true });
    const waiting = store.prepare('select tool, call_id from approvals').all();
    store.close();
    expect(waiting).toEqual([{ tool: 'write_file', call_id: admitted?.[1] }]);
  });

  it('meets the gate in its own calls, too, and an approver of another channel lets one run, once', async () => {
    const { outputs } = await voice.place(
      home,
      url,
      'CA0A3',
      [{ name: 'write_file', args: { path: 'list.txt', content: 'milk' } }],
      500,
    );
    const { status, request } = JSON.parse(outputs[0] ?? '{}');
    expect(status).toBe('staged');
    expect(existsSync(join(home.workspace, 'list.txt'))).toBe(false);

    expect(await web.ask('eve', `/approve ${request}`)).toBe('You are not among those who may decide this.');
    expect(await web.ask('ann', '/approve 0123456789abcdef')).toBe('There is no such request.');
    expect(await web.ask('ann', `/approve ${request}`)).toMatch(/^Approved: .* It runs now\.$/);
    await rig.until(() => existsSync(join(home.workspace, 'list.txt')));
    expect(readFileSync(join(home.workspace, 'list.txt'), 'utf8')).toBe('milk');
    expect(await web.ask('ann', `/approve ${request}`)).toBe('It was decided already; nothing was changed.');
  });

  it('writes what was said, with the calls and their results, into the session that every channel shares', async () => {
    const sessions = await settled(() => home.sessions().get('unified:default')?.some(isAnswer));
    const rows = sessions.get('unified:default') ?? [];
    const spoken = rows.filter(({ source }) => source === 'voice');

    expect(rowsOf(spoken).slice(0, 1)).toEqual([['user', SAID]]);
    const calls = spoken.flatMap(({ tool_calls = [] }) => tool_calls);
    const results = spoken.filter(({ role }) => role === 'tool');
    expect(calls.map(({ function: { name } }) => name).slice(0, 3)).toEqual([
      'read_file',
      'read_file',
      'web_fetch',
    ]);
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(calls.map(({ id }) => id));
    expect(rowsOf(spoken)).toContainEqual(['assistant', ANSWER]);
    // The agent wrote its own turn; it is there once.
    expect(rows.filter(({ content }) => content === FILE_ANSWER)).toHaveLength(1);
  });

  it('and a text turn from another channel knows it', async () => {
    text.willSay({ text: 'You asked about your note.' });
    const answer = await web.ask('ann', 'What did I ask on the phone?');

    expect(answer).toBe('You asked about your note.');
    const known = JSON.stringify(text.asked.at(-1)?.messages);
    expect(known).toContain(SAID);
    expect(known).toContain('third flower pot');
  });

  it("speaks a message of the agent's to whoever is on the line", async () => {
    const admitted = gateway.output.split('incoming call admitted').length;
    const calling = voice.place(home, url, 'CA0A4', [], 450);
    await rig.until(() => gateway.output.split('incoming call admitted').length > admitted);
    text.willSay(
      {
        tool: 'message',
        args: {
          channel: 'realtime',
          chat_id: CALLER,
          content: 'Somebody is at your door with a big parcel.',
        },
      },
      { text: 'I told you on the phone.' },
    );

    expect(await web.ask('ann', 'Tell me on the phone that somebody is at the door')).toBe(
      'I told you on the phone.',
    );
    expect(JSON.stringify(text.asked.at(-1)?.messages)).toContain(`Message sent to realtime:${CALLER}`);
    // The model's own answer is half a second; the sentence takes more than two.
    const { call } = await calling;
    expect(call.heardBytes).toBeGreaterThan(2 * 8000);
  });

  it('can be turned off and on while nanobot runs', async () => {
    await web.toggle('realtime', 'disable');
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    const seen = gateway.output.length;
    await web.toggle('realtime', 'enable');
    await gateway.said(new RegExp(`^[\\s\\S]{${seen}}[\\s\\S]*Listening for calls at`));
    url = /Listening for calls at (http:\S+)/.exec(gateway.output.slice(seen))?.[1] ?? '';
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const saved = JSON.parse(readFileSync(home.config, 'utf8'));
    // What the settings page wrote meanwhile took nothing away.
    expect(saved.channels.realtime).toMatchObject({ toolAccess: 'full', enabled: true, allowFrom: ['*'] });
    expect(saved.channels.realtime.approvals.toolGate.approvers).toEqual([
      { name: 'ann', senders: ['websocket:ann'] },
    ]);
  });

  it('leaves nothing when nanobot stops', stop);
});

describe('toolAccess "public": tools made from public classes', () => {
  beforeAll(() => start({}));
  afterAll(() => rig.remove());

  it('runs the same tools under the same guards', async () => {
    const { outputs } = await voice.place(
      home,
      url,
      'CA0B1',
      [
        { name: 'read_file', args: { path: 'note.txt' } },
        { name: 'read_file', args: { path: '/etc/passwd' } },
        { name: 'web_fetch', args: { url: 'http://169.254.169.254/latest' } },
      ],
      260,
    );

    expect(outputs[0]).toContain(NOTE);
    expect(outputs[1]).toContain(`is outside allowed directory ${home.workspace}`);
    expect(outputs[2]).toContain('private/internal address');
    expect(voice.toolNames).not.toContain('ask_agent');
    const rows = await settled(() => rig.spoken.some(isAnswer));
    expect(rows.size).toBeGreaterThan(0);
    // A stranger's call is in a session of its own, and no other.
    expect([...rows.keys()].filter((key) => key.startsWith('realtime:'))).toHaveLength(1);
  });

  it('leaves nothing when nanobot stops', stop);
});

describe('toolAccess "delegate": the agent alone', () => {
  // Its answers come in parts here.
  beforeAll(() => start({ toolAccess: 'delegate', streaming: true }));
  afterAll(() => rig.remove());

  it('has no tool but the agent, which answers with its own', async () => {
    text.willSay({ tool: 'read_file', args: { path: 'note.txt' } }, { text: FILE_ANSWER });
    const { outputs } = await voice.place(
      home,
      url,
      'CA0C1',
      [{ name: 'ask_agent', args: { request: 'Read my note' } }],
      450,
    );

    expect(text.asked.at(-1)?.stream).toBe(true);
    expect(outputs).toEqual([FILE_ANSWER]);
    expect(voice.toolNames).not.toContain('read_file');
    expect(voice.toolNames).toContain('ask_agent');
    expect(JSON.stringify(text.asked.at(-1)?.messages)).toContain(NOTE);
  });

  it('leaves nothing when nanobot stops', stop);
});

describe('a gate that would not hold', () => {
  const home = new NanobotHome();
  let gateway: NanobotGateway | null = null;
  afterAll(() => {
    gateway?.child.kill('SIGKILL');
    home.remove();
  });

  it('does not start with requests to the agent, and says what to write', async () => {
    const nobody = 'http://127.0.0.1:9/v1';
    home.write({
      agents: { defaults: { workspace: home.workspace, provider: 'custom', model: 'local' } },
      providers: { custom: { apiBase: nobody, apiKey: 'local-key' } },
      gateway: { port: await freePort() },
      channels: {
        websocket: { enabled: false },
        realtime: realtimeSection(nobody, {
          toolAccess: 'delegate',
          approvals: { toolGate: { deny: ['write_file'] } },
        }),
      },
    });
    gateway = new NanobotGateway(home);
    const [failure] = await gateway.said(/Failed to start channel realtime:[^\n]*/);
    expect(failure).toContain('channels.realtime.approvals');
    expect(failure).toContain('voiceOnly');
    await gateway.stop();
    expect(processesOf(home.folder)).toEqual([]);
  });
});

const isAnswer = ({ role, content }: SessionRow) => role === 'assistant' && content === ANSWER;

/** The sessions, once what the condition wants is in their files. */
async function settled(isThere: () => unknown): Promise<Map<string, SessionRow[]>> {
  await rig.until(isThere);
  return home.sessions();
}
