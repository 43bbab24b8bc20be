/** `npm start` as a person meets it: the page's address and the token in its banner, links on the command line. */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

let home: TestHome;
let gateway: GatewayProcess;
let url = '';
let token = '';

beforeAll(async () => {
  home = new TestHome({
    server: { port: 0 },
    model: { provider: 'openai-compatible', baseUrl: 'ws://127.0.0.1:9', apiKey: 'the-provider-key' },
  });
  gateway = new GatewayProcess(home);
  url = await gateway.listening();
  token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
}, 120_000);
afterAll(async () => {
  gateway?.child.kill('SIGKILL');
  home?.remove();
});

function cli(args: string[], secret = token): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'page', ...args, '--url', url],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', HOME: home.folder, NANOBOT_REALTIME_OPERATOR_TOKEN: secret },
    },
  );
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

describe('start, without any gate', () => {
  it('prints where to call from, and where the operator is, with a token that opens both', async () => {
    expect(gateway.stdout).toContain(`From a browser: ${url}/talk`);
    expect(gateway.stdout).toContain(`${url}/operator`);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(gateway.stderr).not.toContain(token);
    const answer = await fetch(`${url}/operator/api/status`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const status = await answer.text();
    expect(JSON.parse(status)).toMatchObject({
      ready: true,
      configured: expect.arrayContaining([expect.objectContaining({ name: 'webrtc', state: 'ok' })]),
    });
    expect(status).not.toContain('the-provider-key');
    expect(status).not.toContain(home.folder);
    const board = await fetch(`${url}/operator/api/approvals`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(board.status).toBe(404);
  });
});

describe('nanobot-realtime page', () => {
  it('makes a link that works once, lists who is there, and sends them away', {
    timeout: 60_000,
  }, async () => {
    const made = await cli(['link', '--note', 'Ana', '--minutes', '5']);
    expect(made).toMatchObject({ code: 0, err: '' });
    const code = /#code=(g_[\w-]{32})$/m.exec(made.out)?.[1] ?? '';
    expect(made.out).toContain(`${url}/talk#code=`);
    const exchange = () =>
      fetch(`${url}/page/session`, {
        method: 'POST',
        headers: { origin: url, 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
    const cookie = ((await exchange()).headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect((await exchange()).status).toBe(401);
    const listed = await cli(['list']);
    expect(listed.out).toMatch(/^[0-9a-f]{16} {2}in .*Ana$/m);
    const session = () => fetch(`${url}/page/session`, { headers: { cookie } });
    expect((await session()).status).toBe(200);

    const revoked = await cli(['revoke', listed.out.slice(0, 16)]);

    expect(revoked).toMatchObject({ code: 0, out: 'Taken back.\n' });
    expect((await session()).status).toBe(401);
    const wrong = await cli(['list'], 'x'.repeat(43));
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).toContain('operator’s token');
  });
});
