// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the config

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_PROBLEM_LINES } from '../../../src/host/config/describe.ts';
import { loadConfig } from '../../../src/host/config/index.ts';
import { MAX_CONFIG_BYTES } from '../../../src/host/config/load.ts';

const home = mkdtempSync(join(tmpdir(), 'config-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

let files = 0;
/** Writes a config and reads it. */
function load(content: unknown, env: Record<string, string> = {}) {
  files += 1;
  const path = join(home, `config-${files}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return loadConfig({ path, env, home });
}

/** The problem lines of a config whose `channels.realtime` is `section`. */
async function problems(section: unknown, env: Record<string, string> = {}): Promise<string[]> {
  try {
    await load({ channels: { realtime: section } }, env);
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    return (error as Error).message.split('\n').slice(1);
  }
  return [];
}

describe('the config file', () => {
  it('need not be there: everything is the default, and that is said', async () => {
    const loaded = await loadConfig({ home: join(home, 'nobody'), env: {} });

    expect(loaded.found).toBe(false);
    expect(loaded.notes).toEqual([expect.stringContaining(join(home, 'nobody', '.nanobot', 'config.json'))]);
    expect(loaded.realtime.server).toEqual({
      host: '127.0.0.1',
      port: 8787,
      drainTimeoutS: 30,
      tls: {},
      trustedProxies: [],
    });
    expect(loaded.host).toMatchObject({
      workspace: join(home, 'nobody', '.nanobot', 'workspace'),
      dataDir: join(home, 'nobody', '.nanobot', 'realtime'),
      restrictToWorkspace: true,
      tools: { exec: { enable: false }, file: { enable: true }, web: { enable: true } },
      agent: { model: null },
    });
  });

  it('that was asked for must be there', async () => {
    await expect(loadConfig({ path: join(home, 'gone.json') })).rejects.toMatchObject({
      code: 'CONFIG_NOT_FOUND',
    });
  });

  it('is found in the home folder, with a byte order mark too', async () => {
    const own = join(home, 'own');
    mkdirSync(join(own, '.nanobot'), { recursive: true });
    writeFileSync(
      join(own, '.nanobot', 'config.json'),
      `\uFEFF${JSON.stringify({ channels: { realtime: { greeting: 'Hi' } } })}`,
    );

    const loaded = await loadConfig({ home: own, env: {} });

    expect(loaded).toMatchObject({ found: true, notes: [], realtime: { greeting: 'Hi' } });
  });

  it('that is a folder or too large is refused with a code', async () => {
    await expect(loadConfig({ path: home })).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    await expect(load(' '.repeat(MAX_CONFIG_BYTES + 1))).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
  });

  it.each([
    ['{"a": sk-secret}', 1, 7],
    ['{\n  "a": 1,\n}', 3, 1],
    ['{\n  "apiKey": "sk-secret"\n  "b": 1\n}', 3, 3],
    ['{"a": "sk-secret\n"}', 1, 7],
    ['', 1, 1],
    ['{"a": 1} x', 1, 10],
    ['[1, 2', 1, 6],
    ['{"a": 01}', 1, 8],
    ["{'a': 1}", 1, 2],
    ['['.repeat(100_000), 1, 202],
  ])('that is no JSON is refused with the place and none of the text: %#', async (text, line, column) => {
    const error = await load(text).catch((each: unknown) => each as Error & { code: string });

    expect(error).toMatchObject({ code: 'CONFIG_UNREADABLE' });
    expect((error as Error).message).toContain(`line ${line}, column ${column}:`);
    expect((error as Error).message).not.toContain('sk-');
    expect((error as Error).cause).toBeUndefined();
  });
});

describe('variables in the config', () => {
  it('are put in wherever a value holds one, and keys are left alone', async () => {
    const loaded = await load(
      {
        channels: { realtime: { greeting: 'Hello ${WHO}, this is ${US}', tools: { deny: ['${TOOL}'] } } },
        providers: { '${WHO}': { apiKey: '${KEY}' } },
        agents: { defaults: { workspace: '${DIR}/ws' } },
      },
      { WHO: 'you', US: 'us', TOOL: 'exec', KEY: 'k', DIR: '/srv' },
    );

    expect(loaded.realtime.greeting).toBe('Hello you, this is us');
    expect(loaded.realtime.tools.deny).toEqual(['exec']);
    expect(loaded.host.providers['${WHO}']?.apiKey).toBe('k');
    expect(loaded.host.workspace).toBe('/srv/ws');
  });

  it('are not put in twice: what a variable holds is taken as it is', async () => {
    const loaded = await load({ channels: { realtime: { greeting: '${A}' } } }, { A: '${B}', B: 'no' });

    expect(loaded.realtime.greeting).toBe('${B}');
  });

  it('of our section that are not set are an error that names them', async () => {
    const lines = await problems({ model: { api_key: '${NOT_SET}' } });

    expect(lines).toEqual(['channels.realtime.model.api_key: the environment variable NOT_SET is not set']);
  });

  it('of nanobot that are not set are left out with a note', async () => {
    const loaded = await load({
      channels: { telegram: { token: '${TG}' } },
      tools: { mcpServers: { home: { command: 'x', args: ['${A}', 'b'], env: { T: '${B}' } } } },
    });

    expect(loaded.notes).toHaveLength(3);
    expect(loaded.notes[0]).toBe('channels.telegram.token: the environment variable TG is not set; left out');
    expect(loaded.host.mcpServers.home).toMatchObject({ args: ['', 'b'], env: {} });
  });
});

describe('our section of the config', () => {
  it('takes camelCase and snake_case alike, and leaves the keys of maps as they are', async () => {
    const loaded = await load({
      channels: {
        realtime: {
          allow_from: ['a'],
          server: { public_url: 'https://voice.example.com', drain_timeout_s: 5 },
          model: { turn_detection: { silence_duration_ms: 700 } },
          limits: { maxCallS: 60, tool_timeout_s: 9 },
          carriers: { twilio: { auth_token: 'x', shared_keys: { snake_case_id: 'y' } } },
        },
      },
    });

    expect(loaded.realtime).toMatchObject({
      allowFrom: ['a'],
      server: { publicUrl: 'https://voice.example.com', drainTimeoutS: 5 },
      model: { turnDetection: { silenceDurationMs: 700 } },
      limits: { maxCallS: 60, toolTimeoutS: 9 },
      carriers: { twilio: { authToken: 'x', sharedKeys: { snake_case_id: 'y' } } },
    });
  });

  it('gets one line for each thing wrong: path, what was found, what is allowed, the nearest name', async () => {
    const lines = await problems({
      server: { prot: 1, port: 'abc' },
      model: { provider: 'opnai' },
      greetin: 'x',
      limits: { max_calls: 0, tool_timeout_s: 'ten' },
      recording: { enabled: 'yes' },
      tools: { allow: 'all' },
      locale: null,
    });

    expect(lines.map((line) => line.replace(/Known here: .*/, '…')).sort()).toEqual([
      'channels.realtime.greetin: unknown key; did you mean "greeting"? …',
      'channels.realtime.limits.maxCalls: found 0; allowed: a whole number from 1 to 10000',
      'channels.realtime.limits.toolTimeoutS: found text of 3 characters; allowed: a number from 1 to 3600',
      'channels.realtime.locale: found null; allowed: text like ^[a-z]{2}-[a-z]{2}$',
      expect.stringMatching(
        /^channels\.realtime\.model\.provider: found "opnai"; allowed: one of "auto", "openai".*; did you mean "openai"\?$/,
      ),
      'channels.realtime.recording.enabled: found text of 3 characters; allowed: true or false',
      'channels.realtime.server.port: found text of 3 characters; allowed: a whole number from 0 to 65535',
      'channels.realtime.server.prot: unknown key; did you mean "port"? …',
      'channels.realtime.tools.allow: found text of 3 characters; allowed: a list, each item text of 1 to 200 characters',
    ]);
  });

  it('names every key that is known where one is unknown, and no wild guess', async () => {
    const [line] = await problems({ identity: { zebra: 1 } });

    expect(line).toBe(
      'channels.realtime.identity.zebra: unknown key; Known here: acceptAttestation, personSession',
    );
  });

  it('shows no secret, no number and none of a person’s words', async () => {
    const secret = 'sk-live-9f8e7d6c5b4a';
    const lines = await problems(
      {
        model: { apikey: secret, apiKey: [secret], baseUrl: 12_345_678, voice: '' },
        carriers: { twilio: { authToken: 12_345_678, shared_keys: { main: 5_550_100 }, twilo: secret } },
        allowFrom: [15_550_100],
        persona: { text: secret },
        greeting: secret.repeat(30),
        locale: secret,
        logLevel: '15550100',
        server: { port: 15_550_100, publicUrl: `no url ${secret}` },
        store: { engine: '${ENGINE}', url: 15_550_100 },
      },
      { ENGINE: 'sqlit' },
    );

    expect(lines.length).toBeGreaterThanOrEqual(13);
    const text = lines.join('\n');
    expect(text).not.toMatch(/sk-live|5550100|12345678|sqlit;|"sqlit"/);
    expect(text).toContain(
      'channels.realtime.store.engine: found a text (not shown); allowed: one of "sqlite"',
    );
  });

  it('that is wrong all over is told in a bounded number of lines', async () => {
    const keys = Array.from({ length: MAX_PROBLEM_LINES + 7 }, (_, index) => [`wrong${index}`, 1]);

    const lines = await problems(Object.fromEntries(keys));

    expect(lines).toHaveLength(MAX_PROBLEM_LINES + 1);
    expect(lines.at(-1)).toBe('… and 7 more');
  });

  it('refuses a key that is given in both spellings', async () => {
    expect(await problems({ allowFrom: ['a'], allow_from: ['b'] })).toEqual([
      'channels.realtime.allow_from: given twice, in both spellings',
    ]);
  });

  it.each([[[]], ['text'], [7]])('that is %j is refused in one line', async (section) => {
    expect(await problems(section)).toEqual([
      expect.stringMatching(/^channels\.realtime: found .*; allowed: an object$/),
    ]);
  });
});

describe("nanobot's own keys", () => {
  it('are read in both spellings', async () => {
    const loaded = await load({
      agents: {
        defaults: { model: 'gpt-x', workspace: '~/elsewhere', max_tool_iterations: 7, provider: 'openai' },
      },
      providers: {
        openai: { api_key: 'k', apiBase: 'http://127.0.0.1:1/v1', extra_headers: { 'X-A': 'b' } },
      },
      tools: {
        restrict_to_workspace: false,
        ssrf_whitelist: ['10.0.0.0/8'],
        exec: { enable: true, timeout: 9 },
        mcp_servers: {
          my_home: { command: 'home', enabled_tools: ['a_b'], tool_timeout: 5 },
          remote: { url: 'https://mcp.example.com/mcp', headers: { A_b: 'c' } },
          old: { url: 'https://mcp.example.com/sse' },
        },
      },
      channels: { send_max_retries: 1 },
    });

    expect(loaded.notes).toEqual([]);
    expect(loaded.host).toMatchObject({
      workspace: join(home, 'elsewhere'),
      restrictToWorkspace: false,
      sendMaxRetries: 1,
      agent: { model: 'gpt-x', provider: 'openai', maxToolIterations: 7 },
      providers: { openai: { apiKey: 'k', apiBase: 'http://127.0.0.1:1/v1', extraHeaders: { 'X-A': 'b' } } },
      tools: { ssrfWhitelist: ['10.0.0.0/8'], exec: { enable: true, timeoutS: 9 } },
      mcpServers: {
        my_home: { type: 'stdio', command: 'home', enabledTools: ['a_b'], toolTimeout: 5 },
        remote: { type: 'streamableHttp', headers: { A_b: 'c' }, toolTimeout: 30, enabledTools: ['*'] },
        old: { type: 'sse' },
      },
    });
  });

  it('are never errors: unknown ones are ignored, wrong ones passed over with a note, safe where it matters', async () => {
    const loaded = await load({
      nonsense: { at: 'the top' },
      agents: [],
      providers: { openai: 'key', x: { apiKey: 5 } },
      tools: {
        restrictToWorkspace: 'no',
        exec: { enable: 'true' },
        ssrfWhitelist: ['everything', '10.0.0.0/8'],
        mcpServers: { a: { args: 'x', toolTimeout: -1 } },
      },
      channels: { telegram: { wrong: true }, sendMaxRetries: 'many' },
    });

    expect(loaded.host).toMatchObject({
      restrictToWorkspace: true,
      tools: { exec: { enable: false }, ssrfWhitelist: ['10.0.0.0/8'] },
      mcpServers: { a: { args: [], toolTimeout: 30 } },
      sendMaxRetries: 3,
    });
    expect(loaded.notes.map((note) => note.split(':')[0]).sort()).toEqual([
      'agents',
      'channels.sendMaxRetries',
      'providers.openai',
      'providers.x.apiKey',
      'tools.exec.enable',
      'tools.mcpServers.a.args',
      'tools.mcpServers.a.toolTimeout',
      'tools.restrictToWorkspace',
      'tools.ssrfWhitelist',
    ]);
  });

  it.each([['denyPatterns'], ['allow_patterns']])(
    'leave exec off when an entry of its %s can not be read',
    async (key) => {
      const broken = await load({ tools: { exec: { enable: true, [key]: ['^ls', '(?P<x>rm)'] } } });
      const fine = await load({ tools: { exec: { enable: true, [key]: ['^LS'] } } });

      expect(broken.host.tools.exec.enable).toBe(false);
      expect(broken.notes).toEqual([expect.stringContaining('exec stays off')]);
      expect(fine.host.tools.exec.enable).toBe(true);
    },
  );

  it.each([[null], [[]], ['text'], [{ channels: 7 }], [{ channels: { realtime: null } }]])(
    'of any shape are fine: %j',
    async (content) => {
      await expect(load(JSON.stringify(content))).resolves.toMatchObject({ found: true });
    },
  );

  it('do not touch what every object has', async () => {
    const loaded = await load('{"__proto__": {"polluted": 1}, "providers": {"__proto__": {"apiKey": "k"}}}');

    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(Object.getPrototypeOf(loaded.host.providers)).toBe(Object.prototype);
  });
});
