/** What changes while the real nanobot runs: MCP servers, the config, and the voice process itself. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FakeModelSession } from '../../src/testing/index.ts';
import { dial } from './caller.ts';
import { processesOf, python, ROOT } from './nanobot.ts';
import { NanobotRig } from './rig.ts';

const MCP_SERVER = join(ROOT, 'test/nanobot/mcp_server.py');
const server = (tool: string) => ({ type: 'stdio', command: python(), args: [MCP_SERVER, tool] });

const toolsOf = (session: FakeModelSession) =>
  session
    .receivedOf('session.update')
    .map(({ session: { tools = [] } }) =>
      tools.flatMap((tool) => ('name' in tool ? [String(tool.name)] : [])),
    );

describe('a nanobot that changes while it runs', () => {
  let rig: NanobotRig;
  beforeAll(async () => {
    rig = await NanobotRig.start({
      realtime: { toolAccess: 'full', tools: { mode: 'both' } },
      tools: { mcpServers: { house: server('lamp') } },
    });
  });
  afterAll(() => rig.remove());

  it('has the tools of an MCP server in a call, and runs them', async () => {
    await rig.until(() => rig.gateway.output.includes('MCP connected servers'));
    const { outputs } = await rig.voice.place(
      rig.home,
      rig.url,
      'CA0M1',
      [{ name: 'mcp_house_lamp', args: { question: 'is it on?' } }],
      220,
    );

    expect(rig.voice.toolNames).toContain('mcp_house_lamp');
    expect(outputs).toEqual(['lamp heard: is it on?']);
  });

  it('gives a call that goes on the tools of a server that comes, and takes those of one that goes', async () => {
    const { carrier } = await dial(rig.url, 'CA0M2');
    if (!carrier) throw new Error('not connected');
    carrier.start();
    await rig.until(() => toolsOf(rig.voice.fake.session).length > 0);
    const { session } = rig.voice.fake;
    expect(toolsOf(session).at(-1)).not.toContain('mcp_garden_sprinkler');

    await rig.web.addMcpServer('garden', python(), [MCP_SERVER, 'sprinkler']);

    await rig.until(() => toolsOf(session).at(-1)?.includes('mcp_garden_sprinkler'));
    expect(toolsOf(session).at(-1)).toEqual(expect.arrayContaining(['mcp_house_lamp', 'read_file']));

    // Another one in its place: what it had is gone.
    await rig.web.addMcpServer('garden', python(), [MCP_SERVER, 'mower']);

    await rig.until(() => toolsOf(session).at(-1)?.includes('mcp_garden_mower'));
    expect(toolsOf(session).at(-1)).not.toContain('mcp_garden_sprinkler');
    expect(rig.voice.fake.session).toBe(session);
    carrier.hangup();
    await carrier.whenClosed();
  });

  it('holds a tool back that an edit of the config file designates, in calls and in text turns, without a restart', async () => {
    const seen = rig.gateway.output.length;
    const config = JSON.parse(readFileSync(rig.home.config, 'utf8'));
    config.channels.realtime.approvals = { toolGate: { requireApproval: ['write_file'] } };
    writeFileSync(rig.home.config, JSON.stringify(config));
    await rig.until(() => rig.since(seen).includes('takes effect before the channel is turned off and on'));

    rig.text.willSay(
      { tool: 'write_file', args: { path: 'evil.txt', content: 'x' } },
      { text: 'I could not.' },
    );
    expect(await rig.web.ask('ann', 'Write evil.txt')).toBe('I could not.');
    const { outputs } = await rig.voice.place(
      rig.home,
      rig.url,
      'CA0M3',
      [
        { name: 'write_file', args: { path: 'evil.txt', content: 'x' } },
        { name: 'read_file', args: { path: 'note.txt' } },
      ],
      260,
    );

    expect(JSON.stringify(rig.text.asked.at(-1)?.messages)).toContain('nobody can before a restart');
    expect(outputs[0]).toContain('nobody can before a restart');
    expect(outputs[1]).toContain('flower pot');
    expect(existsSync(join(rig.home.workspace, 'evil.txt'))).toBe(false);
    expect(rig.since(seen)).not.toContain('Listening for calls');
  });

  it('is started anew by a save with nanobot’s settings page, and then asks a person', async () => {
    const seen = rig.gateway.output.length;
    await rig.web.configure('realtime', { greeting: 'Good evening.' }, { enable: true });
    await rig.until(() => rig.since(seen).includes('Listening for calls at'));
    rig.url = /Listening for calls at (http:\S+)/.exec(rig.since(seen))?.[1] ?? '';

    const { outputs } = await rig.voice.place(
      rig.home,
      rig.url,
      'CA0M4',
      [{ name: 'write_file', args: { path: 'evil.txt', content: 'x' } }],
      320,
    );

    expect(JSON.parse(outputs[0] ?? '{}')).toMatchObject({ status: 'staged' });
    expect(existsSync(join(rig.home.workspace, 'evil.txt'))).toBe(false);
  });

  it('is not listed as running while its voice process is gone, and is again when the next one listens', async () => {
    const seen = rig.gateway.output.length;
    const feature = () => rig.web.feature('realtime');
    expect(await feature()).toMatchObject({ running: true, runtime_status: 'running' });
    const state = JSON.parse(readFileSync(join(rig.home.data, 'realtime', 'gateway.json'), 'utf8'));

    process.kill(state.pid, 'SIGKILL');

    await rig.until(async () => (await feature())?.running === false);
    await rig.until(async () => (await feature())?.running === true);
    expect(rig.since(seen)).toContain('The voice process ended by itself with code -9');
    rig.url = /Listening for calls at (http:\S+)/.exec(rig.since(seen))?.[1] ?? '';
    expect((await fetch(`${rig.url}/healthz`)).status).toBe(200);
    expect(processesOf(rig.home.folder).filter((command) => command.includes('bridge'))).toHaveLength(1);
  });

  it('leaves nothing when it stops', () => rig.stop());
});
