import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { GUEST_CODE, MAX_GUEST_LINKS, MAX_WRONG_CODES_PER_ADDRESS } from '../../../src/server/page/index.ts';
import { closePageRigs, cookieOf, errorOf, pageRig } from './rig.ts';

afterEach(closePageRigs);

/** With a Host of one's own, which fetch does not let one have. */
function withHost(url: string, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
}

describe('who is at a page', () => {
  it('is nobody without a login or a link', async () => {
    const rig = await pageRig();
    const code = `g_${'x'.repeat(32)}`;

    expect(await errorOf(await rig.get('/page/session'))).toEqual({
      status: 401,
      code: 'PAGE_AUTH_REQUIRED',
    });
    expect(await errorOf(await rig.post('/page/calls', { transport: 'socket' }))).toEqual({
      status: 401,
      code: 'PAGE_AUTH_REQUIRED',
    });
    const bearer = { authorization: `Bearer ${code}` };
    expect(await errorOf(await rig.get('/page/session', bearer))).toEqual({
      status: 401,
      code: 'PAGE_CODE_INVALID',
    });
    const wrong = { authorization: `Bearer ${'x'.repeat(43)}` };
    expect((await rig.get('/page/session', wrong)).status).toBe(401);
  });

  it('is the owner after the operator’s login, and is told what a page needs to call and no secret', async () => {
    const rig = await pageRig({
      config: {
        page: { agentName: 'Ada' },
        webrtc: { turn: { urls: ['turn:turn.example.com:3478'], secret: 'the-turn-secret' } },
      },
    });
    const headers = await rig.owner();

    const answer = await rig.get('/page/session', headers);

    const text = await answer.text();
    expect(text).not.toMatch(/the-turn-secret|the-provider-key/);
    expect(text).not.toContain(rig.token);
    const session = JSON.parse(text) as Record<string, unknown>;
    expect(session).toMatchObject({
      role: 'owner',
      agent: { name: 'Ada' },
      version: '1.2.3',
      canCall: true,
      whyNot: null,
      call: null,
      relayOnly: false,
      webrtc: true,
      socket: true,
      has: { approvals: false, media: false },
      iceServers: [
        {
          urls: ['turn:turn.example.com:3478'],
          username: expect.stringMatching(/^\d{10}:[0-9a-f]{16}$/),
          credential: expect.stringMatching(/^[\w+/]{27}=$/),
        },
      ],
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('is a guest by a code, once', async () => {
    const rig = await pageRig();
    const code = await rig.code({ note: 'Ana' });
    expect(code).toMatch(GUEST_CODE);

    const answer = await rig.post('/page/session', { code }, { origin: rig.url });

    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^nanobot_page=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const session = await rig.get('/page/session', { cookie: cookieOf(answer) });
    expect(await session.json()).toMatchObject({ role: 'guest' });
    const again = await rig.post('/page/session', { code }, { origin: rig.url });
    expect(await errorOf(again)).toEqual({ status: 401, code: 'PAGE_CODE_INVALID' });
    expect(again.headers.get('set-cookie')).toBeNull();
    const bearer = await rig.get('/page/session', { authorization: `Bearer ${code}` });
    expect(bearer.status).toBe(401);
  });

  it('is one guest for as long as a client shows the same code as a Bearer, and nobody else by it', async () => {
    const rig = await pageRig();
    const code = await rig.code();
    const bearer = { authorization: `Bearer ${code}` };

    expect((await rig.get('/page/session', bearer)).status).toBe(200);
    expect((await rig.get('/page/session', bearer)).status).toBe(200);
    const exchange = await rig.post('/page/session', { code }, { origin: rig.url });
    expect(exchange.status).toBe(401);
  });

  it('locks a guesser out, and is open again for others', async () => {
    const rig = await pageRig({ config: { server: { trustedProxies: ['127.0.0.1'] } } });
    const guess = (address: string, code: string) =>
      rig.post('/page/session', { code }, { origin: rig.url, 'x-forwarded-for': `203.0.113.9, ${address}` });
    const good = await rig.code();
    for (let i = 0; i < MAX_WRONG_CODES_PER_ADDRESS; i++)
      expect((await guess('198.51.100.1', `g_${String(i).padStart(32, '0')}`)).status).toBe(401);

    expect(await errorOf(await guess('198.51.100.1', good))).toEqual({
      status: 429,
      code: 'TOO_MANY_CONNECTIONS',
    });
    expect((await guess('198.51.100.2', good)).status).toBe(200);
  });

  it('ends with the session, the link taken back, or both', async () => {
    const rig = await pageRig();
    const operator = { authorization: `Bearer ${rig.token}` };
    const guest = await rig.guest(await rig.code({ note: 'Ana' }));
    const unused = await rig.code({ note: 'Ben' });
    const listed = (await (await rig.get('/page/links', operator)).json()) as {
      links: { id: string; note: string }[];
      guests: { id: string; note: string }[];
    };
    expect(listed).toMatchObject({ links: [{ note: 'Ben' }], guests: [{ note: 'Ana', call: null }] });
    expect(JSON.stringify(listed)).not.toContain(unused);
    const remove = (id: string) =>
      fetch(`${rig.url}/page/links/${id}`, { method: 'DELETE', headers: operator });

    for (const { id } of [...listed.links, ...listed.guests]) expect((await remove(id)).status).toBe(204);

    expect((await rig.get('/page/session', guest)).status).toBe(401);
    expect((await rig.post('/page/session', { code: unused }, { origin: rig.url })).status).toBe(401);
    expect(await errorOf(await remove('0000000000000000'))).toEqual({
      status: 404,
      code: 'PAGE_LINK_NOT_FOUND',
    });
    const other = await rig.guest();
    const out = await fetch(`${rig.url}/page/session`, { method: 'DELETE', headers: other });
    expect(out.status).toBe(204);
    expect((await rig.get('/page/session', other)).status).toBe(401);
  });

  it('makes links for the operator only, and so many', async () => {
    const rig = await pageRig();
    const guest = await rig.guest();
    expect((await rig.post('/page/links', {}, guest)).status).toBe(401);
    expect(
      (await rig.post('/page/links', {}, { ...(await rig.owner()), origin: 'https://evil.example' })).status,
    ).toBe(403);
    for (let i = 0; i < MAX_GUEST_LINKS; i++) await rig.code();

    const answer = await rig.post('/page/links', {}, { authorization: `Bearer ${rig.token}` });

    expect(answer.status).toBe(429);
  });

  it('is asked nothing from another site, nor under another host', async () => {
    const rig = await pageRig();
    const owner = await rig.owner();
    const evil = { ...owner, origin: 'https://evil.example' };

    for (const path of ['/talk', '/operator', '/page/session', '/operator/api/status', '/'])
      expect(await withHost(rig.url, path, 'evil.example')).toBe(403);
    expect((await rig.post('/page/calls', { transport: 'socket' }, evil)).status).toBe(403);
    const { origin: _, ...withoutOrigin } = owner;
    expect((await rig.post('/page/calls', { transport: 'socket' }, withoutOrigin)).status).toBe(403);
    expect(
      (await rig.post('/page/session', { code: await rig.code() }, { origin: evil.origin })).status,
    ).toBe(403);
    expect((await rig.post('/operator/login', { token: rig.token }, { origin: evil.origin })).status).toBe(
      403,
    );
    const bearer = { authorization: `Bearer ${rig.token}`, origin: evil.origin };
    expect((await rig.post('/page/calls', { transport: 'socket' }, bearer)).status).toBe(403);
    expect(rig.desk.pendingCalls + rig.desk.activeCalls).toBe(0);
  });
});

describe('without an operator', () => {
  it('there are no pages, nor where the config turns them off', async () => {
    const rig = await pageRig({ config: { page: { enabled: false } } });
    expect((await rig.get('/talk')).status).toBe(404);
    expect((await rig.get('/page/session')).status).toBe(404);
  });
});
