import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, stat } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { mattermostSignature } from '../../../src/approval/cards/mattermost.ts';
import { sign } from '../../../src/approval/cards/signed.ts';
import { OperatorSecret } from '../../../src/approval/index.ts';
import { realClock } from '../../../src/clock.ts';
import { realtimeConfigSchema } from '../../../src/config.ts';
import { createVoiceServer, type VoiceServer } from '../../../src/server/index.ts';
import { COLUMNS, columnOf } from '../../../src/server/pages/board-view.ts';
import {
  MAX_FAILED_LOGINS_PER_MINUTE,
  OperatorSessions,
} from '../../../src/server/pages/operator-sessions.ts';
import { type RigOptions, rig, settle } from '../../approval/rig.ts';

const open: VoiceServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close(0)));
});

const desk = {
  activeCalls: 0,
  pendingCalls: 0,
  isDraining: false,
  admit: () => Promise.reject(new Error('no calls here')),
  attach: () => {},
  call: () => undefined,
  drain: async () => {},
};

async function serve(toolGate: RigOptions['toolGate'] = {}, realtime: object = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'operator-'));
  const gate = await rig({ toolGate: { requireApproval: ['delete_*'], ...toolGate }, clock: realClock });
  const secret = new OperatorSecret(directory);
  const token = (await secret.open(0)) ?? '';
  const server = createVoiceServer({
    config: realtimeConfigSchema.parse({ server: { port: 0 }, ...realtime }),
    desk: desk as never,
    env: {},
    operator: { approvals: gate.system, secret },
  });
  open.push(server);
  const { url, port } = await server.listen();
  const origin = url;
  const login = async () => {
    const answer = await fetch(`${url}/operator/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }),
    });
    return { answer, cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
  };
  const post = (path: string, body: unknown, headers: Record<string, string>) =>
    fetch(`${url}/operator/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return { ...gate, url, port, origin, token, secret, directory, login, post };
}

describe('the operator’s token', () => {
  it('is made once, kept as a hash in a file of 0600, and let in as long as it is the newest', async () => {
    const { directory, token, secret } = await serve();
    const path = join(directory, 'operator.json');

    expect(await readFile(path, 'utf8')).not.toContain(token);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await new OperatorSecret(directory).open(0)).toBeNull();
    expect(secret.verify(token)).toBe(true);
    expect(secret.verify(`${token}x`)).toBe(false);
    const next = await new OperatorSecret(directory).renew(0);
    await secret.refresh();
    expect(secret.verify(token)).toBe(false);
    expect(secret.verify(next)).toBe(true);
  });

  it('lets nobody guess: after too many wrong ones in a minute nobody logs in until it is over', async () => {
    const { secret, token } = await serve();
    let now = 0;
    const sessions = new OperatorSessions(secret, { ...realClock, now: () => now });
    for (let i = 0; i < MAX_FAILED_LOGINS_PER_MINUTE; i++)
      expect(await sessions.login(`wrong-${i}`)).toBeNull();

    expect(await sessions.login(token)).toBeNull();
    now += 60_001;
    expect(await sessions.login(token)).not.toBeNull();
  });

  it('made anew ends every login', async () => {
    const { login, url, directory, secret } = await serve();
    const { cookie } = await login();
    await new OperatorSecret(directory).renew(0);
    await secret.refresh();

    expect((await fetch(`${url}/operator/api/approvals`, { headers: { cookie } })).status).toBe(401);
  });
});

describe('the operator’s page', () => {
  it('gives a cookie for the token that no script reads and no other site sends', async () => {
    const { url, login } = await serve();
    expect((await fetch(`${url}/operator/api/session`)).status).toBe(401);

    const { answer, cookie } = await login();

    expect(answer.status).toBe(303);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^nanobot_operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const page = await fetch(`${url}/operator/api/session`, { headers: { cookie } });
    expect(await page.json()).toEqual({
      role: 'owner',
      has: { approvals: true, media: false, records: false },
    });
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('refuses a login from another site’s page, and a wrong token', async () => {
    const { url, token } = await serve();
    const attempt = (headers: Record<string, string>, body: string) =>
      fetch(`${url}/operator/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ token: body }),
      });

    expect((await attempt({ origin: 'https://evil.example' }, token)).status).toBe(403);
    expect((await attempt({}, token)).status).toBe(403);
    expect((await attempt({ origin: url, 'sec-fetch-site': 'cross-site' }, token)).status).toBe(403);
    expect((await attempt({ origin: url }, 'wrong')).status).toBe(401);
  });

  it.each(['evil.example', 'evil.example:8787', '127.0.0.1.evil.example'])(
    'is not there under the host name %j',
    async (host) => {
      const { port } = await serve();
      const status = await new Promise((resolve, reject) => {
        const request = httpRequest(
          { host: '127.0.0.1', port, path: '/operator', headers: { host } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        );
        request.on('error', reject);
        request.end();
      });

      expect([400, 403]).toContain(status);
    },
  );

  it('is there under the public address and the hosts of the config', async () => {
    const { port } = await serve(
      {},
      {
        server: { port: 0, publicUrl: 'https://voice.example.com' },
        approvals: { pageHosts: ['board.example.com'] },
      },
    );
    for (const host of ['voice.example.com', 'board.example.com', `localhost:${port}`]) {
      const status = await new Promise((resolve) => {
        httpRequest({ host: '127.0.0.1', port, path: '/operator', headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        }).end();
      });
      expect(status).toBe(200);
    }
  });

  it('shows what waits without its secrets, and decides by POST from itself: button pressed, tool ran', async () => {
    const { url, origin, login, post, call, tools, onlyPending } = await serve();
    await call('delete_file', { path: 'report.txt', apiKey: 'top-secret-value' });
    const { id } = await onlyPending();
    const { cookie } = await login();

    const text = await (await fetch(`${url}/operator/api/approvals`, { headers: { cookie } })).text();
    expect(text).not.toContain('top-secret-value');
    expect(JSON.parse(text).approvals[0]).toMatchObject({
      id,
      column: 'Waiting',
      tool: 'delete_file',
      arguments: { path: 'report.txt' },
    });

    const answer = await post(`approvals/${id}/decision`, { decision: 'approve' }, { cookie, origin });

    expect(answer.status).toBe(200);
    await settle();
    expect(tools.ran).toEqual([
      {
        name: 'delete_file',
        args: { path: 'report.txt', apiKey: 'top-secret-value' },
        sessionKey: 'telegram:1',
      },
    ]);
    const detail = JSON.parse(
      await (await fetch(`${url}/operator/api/approvals/${id}`, { headers: { cookie } })).text(),
    );
    expect(detail).toMatchObject({
      approval: { column: 'Done', decidedBy: 'operator', decidedInput: 'page' },
    });
    expect(detail.events.map((each: { kind: string }) => each.kind)).toContain('executed');
  });

  it('decides nothing by GET, without a login, from another origin, or with a body that is no decision', async () => {
    const { url, origin, login, post, call, tools, onlyPending, store } = await serve();
    await call('delete_file', {});
    const { id } = await onlyPending();
    const { cookie } = await login();
    const path = `approvals/${id}/decision`;

    expect(
      (await fetch(`${url}/operator/api/${path}?decision=approve`, { headers: { cookie, origin } })).status,
    ).toBe(404);
    expect((await post(path, { decision: 'approve' }, { origin })).status).toBe(401);
    expect((await post(path, { decision: 'approve' }, { cookie })).status).toBe(403);
    expect(
      (await post(path, { decision: 'approve' }, { cookie, origin: 'https://evil.example' })).status,
    ).toBe(403);
    expect((await post(path, { decision: 'yes' }, { cookie, origin })).status).toBe(400);
    expect(
      (await post(path, { decision: 'approve' }, { cookie, origin, 'content-type': 'text/plain' })).status,
    ).toBe(400);
    expect(
      (
        await post(
          'approvals/ffffffffffffffffffffffffffffffff/decision',
          { decision: 'approve' },
          { cookie, origin },
        )
      ).status,
    ).toBe(404);

    expect(tools.ran).toEqual([]);
    expect((await store.getApproval(id))?.status).toBe('pending');
  });

  it('lets a second decision know that it came second', async () => {
    const { origin, login, post, call, onlyPending } = await serve();
    await call('delete_file', {});
    const { id } = await onlyPending();
    const { cookie } = await login();
    await post(`approvals/${id}/decision`, { decision: 'deny', reason: 'no' }, { cookie, origin });

    const second = await post(`approvals/${id}/decision`, { decision: 'approve' }, { cookie, origin });

    expect(second.status).toBe(409);
    expect(await second.json()).toMatchObject({
      error: { message: expect.stringContaining('decided already') },
    });
  });

  it('follows changes live, for whoever is logged in and came from our own page', async () => {
    const { url, origin, login, call } = await serve();
    const { cookie } = await login();
    const live = url.replace('http', 'ws');
    const refused = async (headers: Record<string, string>) => {
      const socket = new WebSocket(`${live}/operator/live`, { headers });
      const [, response] = await once(socket, 'unexpected-response');
      return response.statusCode;
    };
    expect(await refused({ origin })).toBe(401);
    expect(await refused({ cookie })).toBe(403);
    expect(await refused({ cookie, origin: 'https://evil.example' })).toBe(403);

    const socket = new WebSocket(`${live}/operator/live`, { headers: { cookie, origin } });
    const [hello] = await once(socket, 'message');
    expect(JSON.parse(String(hello))).toEqual({ type: 'hello' });
    const next = once(socket, 'message');
    await call('delete_file', { path: 'x' });

    expect(JSON.parse(String((await next)[0]))).toMatchObject({
      type: 'changed',
      approval: { column: 'Waiting', tool: 'delete_file' },
    });
    socket.close();
  });

  it('has a column for every state, and closed unknown runs stand where the person said', () => {
    const states = [
      'pending',
      'approved',
      'executing',
      'executed',
      'failed',
      'denied',
      'expired',
      'cancelled',
      'unknown',
    ] as const;
    expect(states.map((status) => columnOf({ status, resolution: null }))).toEqual(COLUMNS);
    expect(columnOf({ status: 'unknown', resolution: 'happened' })).toBe('Done');
    expect(columnOf({ status: 'unknown', resolution: 'did_not_happen' })).toBe('Failed');
  });

  it('is not there at all without a gate', async () => {
    const server = createVoiceServer({
      config: realtimeConfigSchema.parse({ server: { port: 0 } }),
      desk: desk as never,
      env: {},
    });
    open.push(server);
    const { url } = await server.listen();

    expect((await fetch(`${url}/operator`)).status).toBe(404);
    expect((await fetch(`${url}/approvals/hooks/slack`, { method: 'POST' })).status).toBe(404);
  });
});

describe('a decision by webhook', () => {
  const SLACK = '8f742231b10e8888abcd99yyyzzz85a5';
  const SECRET = 'a-secret-of-our-own-1234';
  const gateWith = {
    approvers: [{ name: 'anna', webhookUsers: ['slack:T1/U1', 'mattermost:mm1', 'signed:ci'] }],
    deferred: {
      card: {
        webhooks: [
          { kind: 'slack' as const, url: 'http://127.0.0.1:9/x', signingSecret: SLACK },
          { kind: 'mattermost' as const, url: 'http://127.0.0.1:9/x', secret: SECRET },
          { kind: 'signed' as const, url: 'http://127.0.0.1:9/x', secret: SECRET },
        ],
      },
    },
  };
  const slackBody = (id: string, user = 'U1', action = 'approve', ts = '1.0') =>
    new URLSearchParams({
      payload: JSON.stringify({
        type: 'block_actions',
        user: { id: user },
        team: { id: 'T1' },
        actions: [{ action_id: action, value: id, action_ts: ts }],
      }),
    }).toString();
  const slack = (url: string, body: string, more: { secret?: string; at?: number } = {}) => {
    const timestamp = String(Math.floor((more.at ?? Date.now()) / 1000));
    const signature = `v0=${createHmac('sha256', more.secret ?? SLACK)
      .update(`v0:${timestamp}:${body}`)
      .digest('hex')}`;
    return fetch(`${url}/approvals/hooks/slack`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': signature,
      },
      body,
    });
  };

  it('of Slack: button pressed, tool ran; anything forged, old, replayed or by a stranger decides nothing', async () => {
    const { url, call, tools, onlyPending, store } = await serve(gateWith);
    await call('delete_file', { path: 'a' });
    const { id } = await onlyPending();

    expect((await slack(url, slackBody(id), { secret: 'another secret' })).status).toBe(403);
    expect((await slack(url, slackBody(id), { at: Date.now() - 301_000 })).status).toBe(403);
    expect((await slack(url, slackBody(id), { at: Date.now() + 302_000 })).status).toBe(403);
    expect(await (await slack(url, slackBody(id, 'U2'))).json()).toMatchObject({
      text: expect.stringContaining('not among those'),
    });
    expect((await store.getApproval(id))?.status).toBe('pending');
    expect(tools.ran).toEqual([]);

    expect(await (await slack(url, slackBody(id))).json()).toMatchObject({ text: 'Approved. It runs now.' });
    await settle();

    expect(tools.ran).toHaveLength(1);
    expect(await store.getApproval(id)).toMatchObject({ decidedBy: 'anna', decidedInput: 'webhook' });
    expect(await (await slack(url, slackBody(id))).json()).toMatchObject({
      text: expect.stringContaining('decided already'),
    });
    expect(tools.ran).toHaveLength(1);
  });

  it('of Mattermost: only with the context that we signed, for this request, this decision, in time', async () => {
    const { url, call, tools, onlyPending } = await serve(gateWith);
    await call('delete_file', { path: 'a' });
    const { id } = await onlyPending();
    const expires = Date.now() + 60_000;
    const press = (context: object, user_id = 'mm1') =>
      fetch(`${url}/approvals/hooks/mattermost`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ user_id, post_id: 'p', context }),
      });
    const sig = mattermostSignature(SECRET, id, 'deny', expires);

    expect((await press({ id, decision: 'approve', expires, sig })).status).toBe(403);
    expect((await press({ id, decision: 'deny', expires: expires + 1, sig })).status).toBe(403);
    const old = Date.now() - 1;
    expect(
      (await press({ id, decision: 'deny', expires: old, sig: mattermostSignature(SECRET, id, 'deny', old) }))
        .status,
    ).toBe(403);
    expect(await (await press({ id, decision: 'deny', expires, sig }, 'mm2')).json()).toMatchObject({
      ephemeral_text: expect.stringContaining('not among'),
    });

    const approval = mattermostSignature(SECRET, id, 'approve', expires);
    expect(await (await press({ id, decision: 'approve', expires, sig: approval })).json()).toMatchObject({
      ephemeral_text: 'Approved. It runs now.',
    });
    await settle();
    expect(tools.ran).toHaveLength(1);
  });

  it('of anything that signs: id, time and body together', async () => {
    const { url, call, tools, onlyPending } = await serve(gateWith);
    await call('delete_file', { path: 'a' });
    const { id } = await onlyPending();
    const send = (body: object, more: { secret?: string; signed?: string } = {}) => {
      const text = JSON.stringify(body);
      const timestamp = String(Math.floor(Date.now() / 1000));
      return fetch(`${url}/approvals/hooks/signed`, {
        method: 'POST',
        headers: {
          'webhook-id': 'm1',
          'webhook-timestamp': timestamp,
          'webhook-signature': sign(more.secret ?? SECRET, 'm1', timestamp, more.signed ?? text),
        },
        body: text,
      });
    };
    const body = { id, decision: 'approve', by: 'ci' };

    expect((await send(body, { secret: 'wrong' })).status).toBe(403);
    expect((await send(body, { signed: JSON.stringify({ ...body, decision: 'deny' }) })).status).toBe(403);
    expect(await (await send({ ...body, by: 'stranger' })).json()).toMatchObject({
      result: expect.stringContaining('not among'),
    });
    expect(await (await send(body)).json()).toMatchObject({ result: 'Approved. It runs now.' });
    await settle();

    expect(tools.ran).toHaveLength(1);
  });

  it('is not taken where the config has no such webhook', async () => {
    const { url } = await serve();

    expect((await slack(url, slackBody('f'.repeat(32)))).status).toBe(404);
  });
});
