/**
 * docs/guides/nanobot.md, typed as it stands. What needs a registry, a carrier or somebody's key meets a double: pip finds our
 * wheel in a folder, npm puts this checkout where the real one puts the package, ngrok only hears what it is told.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPlugin } from '../../scripts/build-plugin.ts';
import { AUTH_TOKEN, realtimeSection, VoiceModel } from './caller.ts';
import { freePort, NanobotGateway, NanobotHome, processesOf, python, ROOT } from './nanobot.ts';

const GUIDE = readFileSync(join(ROOT, 'docs/guides/nanobot.md'), 'utf8');

const blocks = (language: string) =>
  [...GUIDE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text]) =>
    name === language ? [text ?? ''] : [],
  );
/** Every command of the guide, in order. */
const COMMANDS = blocks('sh').flatMap((block) => block.trim().split('\n'));

const home = new NanobotHome();
const tools = join(home.folder, 'tools');
const told = join(home.folder, 'told.txt');
const voice = new VoiceModel();
let gateway: NanobotGateway | null = null;
const done: string[] = [];

function double(name: string, script: string): void {
  writeFileSync(join(tools, name), `#!/bin/sh\necho "${name} $*" >> "${told}"\n${script}\n`, { mode: 0o755 });
}

function environment(): Record<string, string> {
  const path = [tools, dirname(python()), join(ROOT, 'node_modules/.bin'), process.env.PATH].join(':');
  const found = process.env.NANOBOT_TEST_WHEELS;
  return home.environment({
    PATH: path,
    OPENAI_API_KEY: 'sk-your-key',
    ...(found ? { PIP_NO_INDEX: '1', PIP_FIND_LINKS: found } : {}),
  });
}

/** Types one command; returns what it printed. */
function type(command: string): string {
  expect(COMMANDS).toContain(command);
  done.push(command);
  return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', env: environment(), cwd: home.folder });
}

const commandWith = (text: string) => {
  const found = COMMANDS.find((command) => command.includes(text));
  if (!found) throw new Error(`the guide has no command with ${text}`);
  return found;
};

async function begin(): Promise<string> {
  const command = commandWith('nanobot gateway');
  done.push(command);
  gateway = new NanobotGateway(home, environment());
  return gateway.listening();
}

beforeAll(() => {
  mkdirSync(tools, { recursive: true });
  double(
    'npm',
    'mkdir -p "$3/node_modules" && ln -s "$CHECKOUT" "$3/node_modules/$4"'.replace('$CHECKOUT', ROOT),
  );
  double('ngrok', 'exit 0');
});

afterAll(async () => {
  gateway?.child.kill('SIGKILL');
  await voice.fake.close();
  home.remove();
});

describe('the guide, from nothing to a ringing phone', () => {
  it('installs', () => {
    type(commandWith('pip install'));
    type(commandWith('npm install'));

    expect(readFileSync(told, 'utf8')).toBe(
      `npm install --prefix ${home.data}/realtime-package nanobot-channel-realtime\n`,
    );
  });

  it('turns it on', () => {
    type('nanobot onboard');
    type('nanobot plugins enable realtime');
    expect(type('nanobot plugins list')).toMatch(/realtime.*yes/);
    type(commandWith('export OPENAI_API_KEY'));
  });

  it('starts, and answers', async () => {
    // Ports and a text model that this machine can have; the guide's own are anybody's.
    const config = JSON.parse(readFileSync(home.config, 'utf8'));
    expect(config.channels.realtime).toMatchObject({
      enabled: true,
      server: { port: 8787 },
      allowFrom: ['*'],
    });
    const port = await freePort();
    config.gateway.port = await freePort();
    config.channels.websocket = { enabled: false };
    config.channels.realtime.server.port = port;
    config.providers.custom = { apiBase: 'http://127.0.0.1:9/v1', apiKey: 'x' };
    Object.assign(config.agents.defaults, { provider: 'custom', model: 'local' });
    writeFileSync(home.config, JSON.stringify(config));

    expect(await begin()).toBe(`http://127.0.0.1:${port}`);

    const command = commandWith('curl');
    done.push(command);
    const output = execFileSync('/bin/sh', ['-c', command.replace('8787', String(port))], {
      encoding: 'utf8',
    });
    expect(output).toContain('ok');
    expect(gateway?.output).toContain('Starting the voice process from');
    expect(await gateway?.stop()).toBe(0);
    expect(processesOf(home.folder)).toEqual([]);
  });

  it('rings, once the number is written down', async () => {
    type(commandWith('ngrok'));
    const [json] = blocks('json');
    const written = JSON.parse(json ?? '{}').channels.realtime;
    expect(written.carriers.twilio.authToken).toBe('your-auth-token');
    const config = JSON.parse(readFileSync(home.config, 'utf8'));
    const { model, carriers } = realtimeSection(await voice.fake.listen(), {});
    // With a public address the signature is made over it, and a carrier's double stands on this machine.
    Object.assign(config.channels.realtime, { carriers, model, greeting: '' });
    expect(Object.keys(written).sort()).toEqual(['carriers', 'server']);
    expect(AUTH_TOKEN).not.toBe('');
    writeFileSync(home.config, JSON.stringify(config));
    writeFileSync(join(home.workspace, 'note.txt'), 'A note of the guide’s.');

    const url = await begin();
    const { outputs, call } = await voice.place(
      home,
      url,
      'CA0G1',
      [{ name: 'read_file', args: { path: 'note.txt' } }],
      200,
    );

    expect(call.upgradeStatus).toBe(101);
    expect(outputs[0]).toContain('A note of the guide’s.');
    expect(await gateway?.stop()).toBe(0);
  });

  it('copies the plugin, and nanobot lists it, loads its skill and its server', async () => {
    // A checkout holds more than the package does; what is published is what is copied.
    const copied = join(home.data, 'realtime-package/node_modules/nanobot-channel-realtime');
    const published = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).files as string[];
    execFileSync('rm', [copied]);
    mkdirSync(copied, { recursive: true });
    for (const name of ['package.json', ...published]) {
      if (name === 'dist' || !existsSync(join(ROOT, name))) continue;
      mkdirSync(dirname(join(copied, name)), { recursive: true });
      symlinkSync(join(ROOT, name), join(copied, name));
    }
    await buildPlugin(join(copied, 'dist'));
    type(commandWith('mkdir -p'));
    type(commandWith('cp -RL'));

    const plugins = readdirSync(join(home.workspace, 'plugins'));
    expect(plugins).toEqual(['nanobot-channel-realtime']);
    const script = join(ROOT, 'test/nanobot/agent-plugin.py');
    const child = spawn(python(), [script, home.config], { env: environment() });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data;
      });
    }
    const code = await new Promise((resolve) => child.on('exit', resolve));
    expect(output).toContain('listed: nanobot-channel-realtime (Realtime voice)');
    expect(output).toContain('skill: voice-calls');
    expect(output).toMatch(/server: node .*mcp-server/);
    expect(output).toContain('tools: list_calls');
    expect(code).toBe(0);
  });

  it('and every command of it was typed', () => {
    expect([...new Set(done)].sort()).toEqual([...new Set(COMMANDS)].sort());
  });
});
