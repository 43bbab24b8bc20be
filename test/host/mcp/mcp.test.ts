import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import type { McpServerConfig } from '../../../src/host/config/index.ts';
import { ERROR_HINT, SsrfPolicy, type ToolCallOptions, ToolRegistry } from '../../../src/host/index.ts';
import {
  MAX_MCP_SERVERS,
  MAX_TOOLS_PER_SERVER,
  MCP_RESTART_DELAYS_MS,
  McpServers,
  mcpToolName,
} from '../../../src/host/mcp/index.ts';
import { silentLogger } from '../../../src/observe/index.ts';
import { startHttpFixture } from './http-fixture.ts';

const script = fileURLToPath(new URL('./stdio-fixture.ts', import.meta.url));
const stdio: McpServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: ['--disable-warning=ExperimentalWarning', script],
  env: {},
  cwd: null,
  url: '',
  headers: {},
  toolTimeout: 30,
  enabledTools: ['*'],
};
const http = (url: string): McpServerConfig => ({
  ...stdio,
  type: 'streamableHttp',
  command: '',
  args: [],
  url,
});
const loopback = new SsrfPolicy({ whitelist: ['127.0.0.0/8'] });

/** Restarts at once: the waits are the clock's business, and have a test of their own. */
const hasty = { ...realClock, setTimeout: hastyTimeout };
function hastyTimeout(callback: () => void, ms: number) {
  return realClock.setTimeout(callback, MCP_RESTART_DELAYS_MS.includes(ms) && ms < 30_000 ? 0 : ms);
}

const opened: McpServers[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((servers) => servers.close()));
});

async function start(
  configs: Record<string, McpServerConfig>,
  { ssrf = loopback, clock = hasty, registry = new ToolRegistry() } = {},
) {
  const servers = new McpServers(configs, { registry, ssrf, clock, logger: silentLogger });
  opened.push(servers);
  await servers.start();
  return { servers, registry };
}

const text = async (registry: ToolRegistry, name: string, args: unknown = {}, options?: ToolCallOptions) =>
  (await registry.execute(name, args, options)).content;

describe('an MCP server over stdio', () => {
  it('has its tools in the registry, behind the built-in ones, and they can be called', async () => {
    const registry = new ToolRegistry();
    registry.register({
      name: 'zebra',
      description: '',
      parameters: { type: 'object' },
      execute: async () => 'stripes',
    });

    await start({ home: stdio }, { registry });

    expect(registry.getDefinitions().map((each) => each.function.name)).toEqual([
      'zebra',
      ...['die', 'echo', 'env', 'fail', 'grow', 'hang', 'nothing', 'picture', 'pid', 'slow'].map(
        (each) => `mcp_home_${each}`,
      ),
    ]);
    expect(await registry.execute('mcp_home_echo', { text: 'hello' })).toEqual({
      content: 'hello',
      isError: false,
    });
    expect(registry.get('mcp_home_echo')).toMatchObject({ description: 'Says it again', readOnly: true });
    expect(registry.get('mcp_home_die')).toMatchObject({ readOnly: false });
  });

  it('gives results of every kind: failures, nothing, pictures, wrong arguments', async () => {
    const { registry } = await start({ home: stdio });

    expect(await registry.execute('mcp_home_fail', {})).toEqual({
      content: `it failed${ERROR_HINT}`,
      isError: true,
    });
    expect(await text(registry, 'mcp_home_nothing')).toBe('(no output)');
    expect(await text(registry, 'mcp_home_picture')).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]);
    expect(await text(registry, 'mcp_home_echo', {})).toBe(
      `Error: Invalid parameters for tool 'mcp_home_echo': missing required text${ERROR_HINT}`,
    );
  });

  it('gets what the config names and a few harmless variables, and none of our secrets', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'a secret of ours');
    const { registry } = await start({ home: { ...stdio, env: { HOME_TOKEN: 'x' } } });
    vi.unstubAllEnvs();

    const names = JSON.parse(String(await text(registry, 'mcp_home_env'))) as string[];

    const harmless = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
    expect(names).toContain('HOME_TOKEN');
    expect(names.filter((name) => !harmless.includes(name) && name !== 'HOME_TOKEN')).toEqual([]);
  });

  it('that dies during a call is an error result, and is started again', async () => {
    const { registry, servers } = await start({ home: stdio });
    const before = await text(registry, 'mcp_home_pid');

    const result = await registry.execute('mcp_home_die', {});

    expect(result).toMatchObject({
      isError: true,
      content: expect.stringContaining('went away during the call'),
    });
    await vi.waitFor(() => expect(servers.counts).toEqual({ up: 1, all: 1 }), { timeout: 10_000 });
    const after = await text(registry, 'mcp_home_pid');
    expect(Number(after)).toBeGreaterThan(0);
    expect(after).not.toBe(before);
  });

  it('that is down answers calls at once with an error, its tools still there', async () => {
    const waiting = {
      ...realClock,
      setTimeout: (callback: () => void, ms: number) => realClock.setTimeout(callback, ms + 60_000),
    };
    const { registry, servers } = await start({ home: stdio }, { clock: waiting });
    await registry.execute('mcp_home_die', {});
    await vi.waitFor(() => expect(servers.counts.up).toBe(0));

    const result = await registry.execute('mcp_home_echo', { text: 'x' });

    expect(result).toMatchObject({
      isError: true,
      content: expect.stringContaining("'home' is not running"),
    });
  });

  it('that does not answer is given up after its deadline, and a cancelled call at once', async () => {
    const { registry } = await start({ home: { ...stdio, toolTimeout: 0.05 } });
    const stop = new AbortController();

    const late = await registry.execute('mcp_home_hang', {});
    const cancelled = registry.execute('mcp_home_hang', {}, { signal: stop.signal });
    stop.abort();

    expect(late).toMatchObject({ isError: true, content: expect.stringContaining('within 0.05 seconds') });
    expect(await cancelled).toMatchObject({ isError: true, content: expect.stringContaining('cancelled') });
    expect(await text(registry, 'mcp_home_echo', { text: 'still there' })).toBe('still there');
  });

  it('that says how far it is, is heard by whoever asked to', async () => {
    const { registry } = await start({ home: stdio });
    const heard: string[] = [];

    const result = await registry.execute(
      'mcp_home_slow',
      {},
      { onProgress: (progress) => heard.push(progress) },
    );

    expect(result.content).toBe('done');
    expect(heard).toEqual(['25 percent', 'Half of it']);
    expect(await text(registry, 'mcp_home_slow')).toBe('nobody asked');
  });

  it('that gets another tool while it runs has it in the registry', async () => {
    const { registry } = await start({ home: stdio });

    await registry.execute('mcp_home_grow', {});

    await vi.waitFor(() => expect(registry.has('mcp_home_grown')).toBe(true));
    expect(await text(registry, 'mcp_home_grown')).toBe('new');
  });

  it('shows only the tools that the config enables, by either name', async () => {
    const { registry } = await start({
      home: { ...stdio, enabledTools: ['echo', 'mcp_home_pid', 'nobody'] },
    });

    expect(registry.toolNames).toEqual(['mcp_home_echo', 'mcp_home_pid']);
  });

  it('that can not be started is no error, keeps nobody waiting, and is tried again', async () => {
    const waits: number[] = [];
    const watched = {
      ...realClock,
      setTimeout(callback: () => void, ms: number) {
        if (MCP_RESTART_DELAYS_MS.includes(ms)) waits.push(ms);
        return hastyTimeout(callback, ms);
      },
    };

    const { registry, servers } = await start(
      { gone: { ...stdio, command: '/nonexistent/program' }, none: { ...stdio, command: '' }, home: stdio },
      { clock: watched },
    );

    expect(servers.counts).toEqual({ up: 1, all: 3 });
    expect(registry.has('mcp_home_echo')).toBe(true);
    await vi.waitFor(() => expect(waits.filter((ms) => ms === 8000)).toHaveLength(2));
  });

  it('has its tools in the registry up to a bound, and so have all servers', async () => {
    const { registry } = await start({
      home: { ...stdio, env: { FIXTURE_TOOLS: `${MAX_TOOLS_PER_SERVER + 5}` } },
    });
    expect(registry.toolNames).toHaveLength(MAX_TOOLS_PER_SERVER);

    const idle = { ...stdio, command: '' };
    const many = Array.from({ length: MAX_MCP_SERVERS + 1 }, (_, index) => [`s${index}`, idle]);
    const { servers } = await start(Object.fromEntries(many));
    expect(servers.counts).toEqual({ up: 0, all: MAX_MCP_SERVERS });
  });

  it('leaves nothing behind when it is closed', async () => {
    const { registry, servers } = await start({ home: stdio });
    const pid = Number(await text(registry, 'mcp_home_pid'));

    await servers.close();
    await servers.close();

    expect(registry.toolNames).toEqual([]);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/));
  });
});

describe('an MCP server over streamable HTTP', () => {
  it('has its tools in the registry and gets the headers of the config', async () => {
    const fixture = await startHttpFixture();
    const config = { ...http(fixture.url), headers: { Authorization: 'Bearer of-the-config' } };

    const { registry } = await start({ remote: config });

    expect(await text(registry, 'mcp_remote_echo', { text: 'hi' })).toBe('hi');
    expect(new Set(fixture.authorizations)).toEqual(new Set(['Bearer of-the-config']));
    await fixture.close();
  });

  it('that goes away is an error result, and is found again when it is back', async () => {
    const fixture = await startHttpFixture();
    const { registry, servers } = await start({ remote: http(fixture.url) });
    await fixture.close();

    const result = await registry.execute('mcp_remote_echo', { text: 'hi' });
    expect(result).toMatchObject({ isError: true });
    const again = await startHttpFixture(fixture.port);

    await vi.waitFor(() => expect(servers.counts.up).toBe(1), { timeout: 10_000 });
    expect(await text(registry, 'mcp_remote_echo', { text: 'back' })).toBe('back');
    await again.close();
  });

  it('on a private address is not connected to unless the config lists it', async () => {
    const fixture = await startHttpFixture();

    const { registry, servers } = await start({ remote: http(fixture.url) }, { ssrf: new SsrfPolicy() });

    expect(servers.counts.up).toBe(0);
    expect(registry.toolNames).toEqual([]);
    expect(fixture.authorizations).toEqual([]);
    await fixture.close();
  });
});

describe('the name of an MCP tool', () => {
  it.each([
    ['home', 'lights', 'mcp_home_lights'],
    ['my home', 'a.b/c', 'mcp_my_home_a_b_c'],
    ['s', 'x'.repeat(58), `mcp_s_${'x'.repeat(58)}`],
  ])('of %s and %s is %s', (server, tool, name) => {
    expect(mcpToolName(server, tool)).toBe(name);
  });

  it('that is too long is cut, and stays different from others', () => {
    const names = ['a', 'b'].map((end) => mcpToolName('server', 'x'.repeat(80) + end));

    expect(new Set(names).size).toBe(2);
    expect(names.map((name) => name.length)).toEqual([64, 64]);
  });

  it('that two tools would share goes to the first, and the other is left out', async () => {
    const { registry } = await start({
      'a.b': { ...stdio, enabledTools: ['echo', 'pid'] },
      a_b: { ...stdio, enabledTools: ['echo'] },
    });

    expect(registry.toolNames.sort()).toEqual(['mcp_a_b_echo', 'mcp_a_b_pid']);
  });
});
