import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('a staged action and the command line, in processes of their own', { timeout: 60_000 }, () => {
  const model = new FakeModel({ apiKey: 'k' });
  let home: TestHome;
  let gateway: GatewayProcess;
  let url = '';
  let token = '';

  beforeAll(async () => {
    model.onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('It waits.', { durationMs: 400 })];
      return trigger === 'speech'
        ? [call('write_file', { path: 'made.txt', content: 'made by the agent' })]
        : [];
    });
    home = new TestHome({
      server: { port: 0 },
      model: { provider: 'openai-compatible', baseUrl: await model.listen(), apiKey: 'k' },
      carriers: { twilio: { authToken: 'e2e' } },
      greeting: '',
      approvals: { toolGate: { requireApproval: ['write_*'] } },
    });
    gateway = new GatewayProcess(home);
    url = await gateway.listening();
    token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
    const audioFile = join(home.folder, 'caller.ulaw');
    writeFileSync(audioFile, encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
    await placeOutsideCall({ url, authToken: 'e2e', audioFile, frames: 200, callSid: 'CA01' });
  });

  afterAll(async () => {
    gateway?.child.kill('SIGKILL');
    await model.close();
    home?.remove();
  });

  function cli(args: string[], secret = token): Promise<{ code: number | null; out: string; err: string }> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'approvals', ...args, '--url', url],
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

  it('prints the token once, in its banner and nowhere else', () => {
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(gateway.stdout).toContain(`${url}/operator`);
    expect(gateway.stderr).not.toContain(token);
    expect(readFileSync(join(home.folder, '.nanobot', 'realtime', 'operator.json'), 'utf8')).not.toContain(
      token,
    );
  });

  it('lists, shows and approves it, and then the file is there', async () => {
    const list = await cli(['list']);
    expect(list.out).toMatch(
      /^[0-9a-f]{8} {2}Waiting .*write_file\(path=made\.txt, content=made by the agent\)/m,
    );
    const id = list.out.slice(0, 8);
    expect(existsSync(join(home.workspace, 'made.txt'))).toBe(false);
    expect(readdirSync(join(home.folder, '.nanobot', 'realtime', 'pending', 'actions'))).toHaveLength(1);
    expect((await cli(['show', id])).out).toContain('requested');

    expect(await cli(['approve', id])).toMatchObject({ code: 0, out: expect.stringContaining('write_file') });

    await expect.poll(() => existsSync(join(home.workspace, 'made.txt'))).toBe(true);
    expect(readFileSync(join(home.workspace, 'made.txt'), 'utf8')).toBe('made by the agent');
    expect((await cli(['list', '--all'])).out).toContain('Done');
    const again = await cli(['approve', id]);
    expect(again.code).not.toBe(0);
    expect(again.err).toContain('decided already');
  });

  it('decides nothing with a wrong token', async () => {
    const wrong = await cli(['list'], 'x'.repeat(43));
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).toContain('operator’s token');
  });
});
