/**
 * A caller asks for a file over `npm start`: it waits at the gate, they hang up, a person approves it on the command line,
 * the tool runs, and the file reaches their phone; the carrier says so, and that is on record.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, FakeMessaging, FakeModel, say } from '../../src/testing/index.ts';
import { AUTH_TOKEN, CALLER, callAndSpeak, PUBLIC } from './caller-of-files.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TEXT = 'The plan: paint the fence on Saturday.';

describe('a file that a caller asked for, and somebody had to approve', { timeout: 60_000 }, () => {
  const model = new FakeModel({ apiKey: 'k' });
  let carrier: FakeMessaging;
  let home: TestHome;
  let gateway: GatewayProcess;
  let url = '';
  let token = '';

  beforeAll(async () => {
    model.onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('It waits for approval.', { durationMs: 600 })];
      return trigger === 'speech' ? [call('send_file', { path: 'plan.txt' })] : [];
    });
    carrier = await FakeMessaging.listen({
      authToken: AUTH_TOKEN,
      resolveUrl: (address) => address.replace(PUBLIC, url),
    });
    home = new TestHome({
      server: { port: 0, publicUrl: PUBLIC },
      model: { provider: 'openai-compatible', baseUrl: await model.listen(), apiKey: 'k' },
      carriers: { twilio: { authToken: AUTH_TOKEN } },
      identity: { acceptAttestation: true },
      greeting: '',
      tools: { authorization: [{ tool: 'send_file' }] },
      // Nothing says that files wait: they do wherever there is a gate.
      approvals: { toolGate: { requireApproval: ['write_*'] } },
      media: {
        consent: [CALLER],
        messaging: { accountSid: carrier.accountSid, baseUrl: carrier.baseUrl, from: '+15550199' },
      },
    });
    writeFileSync(join(home.workspace, 'plan.txt'), TEXT);
    gateway = new GatewayProcess(home);
    url = await gateway.listening();
    token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';

    const { phone, stream } = await callAndSpeak(url);
    await stream.whenAgentIdle(300);
    phone.hangup();
    await phone.ended;
  });

  afterAll(async () => {
    gateway?.child.kill('SIGKILL');
    await model.close();
    await carrier.close();
    home?.remove();
  });

  function cli(...args: string[]): Promise<string> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', ...args],
      {
        cwd: ROOT,
        env: { PATH: process.env.PATH ?? '', HOME: home.folder, NANOBOT_REALTIME_OPERATOR_TOKEN: token },
      },
    );
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        out += data;
      });
    return new Promise((resolve) => child.on('close', () => resolve(out)));
  }

  it('waits: nothing was sent, and the model was told so', async () => {
    expect(await cli('approvals', 'list', '--url', url)).toMatch(/Waiting .*send_file\(path=plan\.txt/);
    expect(await cli('outbox', 'list')).toContain('Nothing is in the outbox');
    expect(carrier.messages).toEqual([]);
    const outputs = model.session
      .receivedOf('conversation.item.create')
      .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));
    expect(outputs).toEqual([expect.stringMatching(/^{"status":"staged".*has not run/)]);
  });

  it('runs once it is approved, and reaches the phone of who asked, by a link', async () => {
    const id = (await cli('approvals', 'list', '--url', url)).slice(0, 8);
    await cli('approvals', 'approve', id, '--url', url);
    await expect.poll(() => carrier.messages.length, { timeout: 30_000 }).toBe(1);
    const [message] = carrier.messages;

    expect(message).toMatchObject({ to: CALLER, mediaUrl: null });
    const link = /https:\S+/.exec(message!.body)?.[0].replace(PUBLIC, url) ?? '';
    const answer = await fetch(link, { method: 'POST' });
    expect(await answer.text()).toBe(TEXT);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);
  });

  it('is on record as delivered when the carrier says so', async () => {
    expect(await carrier.report(carrier.messages[0]!, 'delivered')).toBe(204);
    const [, line = ''] = (await cli('outbox', 'list')).split('\n');
    expect(line).toMatch(/\bsent\b.*\bsms\b/);
    const id = line.split(/\s/)[0] ?? '';
    await expect
      .poll(() => cli('outbox', 'show', id), { timeout: 20_000 })
      .toMatch(/the carrier says\s+delivered/);
  });

  it('left nothing of the file or the number in the log', async () => {
    expect(await gateway.stop()).toBe(0);
    for (const secret of ['5550100', 'plan.txt', 'fence', '/media/m/'])
      expect(gateway.stdout + gateway.stderr).not.toContain(secret);
  });
});
