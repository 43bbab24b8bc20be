import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { MAX_GUEST_CALLS } from '../../../src/server/page/index.ts';
import { refusedStatus } from '../rig.ts';
import { closePageRigs, errorOf, pageRig, until } from './rig.ts';

afterEach(closePageRigs);

/** 20 ms of a tone. */
const FRAME = new Uint8Array(new Int16Array(480).map((_, i) => Math.round(8000 * Math.sin(i / 5))).buffer);

describe('a call over the WebSocket', () => {
  it('is welcomed, heard, answered and hung up', async () => {
    const rig = await pageRig();
    const page = await rig.call(await rig.owner());

    const [first] = page.events;
    expect(first).toMatchObject({ type: 'welcome', role: 'owner', transport: 'socket', resumed: false });
    const said = await page.next('transcript', ({ role, final }) => role === 'assistant' && final);
    expect(said.text).toBe('Hello.');
    await until('audio', () => page.audioBytes > 4800);
    for (let i = 0; i < 10; i++) page.speak(FRAME);
    await until('it was heard', () => rig.model.session.inputMs >= 200);
    page.say({ type: 'text', text: 'how are you' });
    await page.next('transcript', ({ text, final }) => text === 'Okay.' && final);
    page.say({ type: 'hangup' });
    await page.closed;

    await until('its record is kept', () => rig.records.size === 1);
    const { calls } = (await (
      await rig.get('/operator/api/calls', { authorization: `Bearer ${rig.token}` })
    ).json()) as { calls: object[] };
    expect(calls).toMatchObject([
      { carrier: 'webrtc', identity: 'authenticated', endReason: 'caller_hangup', hasRecord: true },
    ]);
    expect(rig.model.violations).toEqual([]);
  });

  it('goes on where it was on a new connection that names it; the model notices nothing', async () => {
    const rig = await pageRig();
    const headers = await rig.owner();
    const page = await rig.call(headers);
    const { callId } = await page.next('welcome');
    await page.greeted();
    page.say({ type: 'text', text: 'first' });
    await page.next('transcript', ({ text, final }) => text === 'Okay.' && final);
    page.cut();
    await until('it is lost', () => rig.desk.call(callId)?.isAttached === false);
    expect(await (await rig.get('/page/session', headers)).json()).toMatchObject({ call: callId });

    const back = await rig.call(headers, { callId });

    expect(await back.next('welcome')).toMatchObject({ callId, resumed: true });
    back.say({ type: 'text', text: 'second' });
    await back.next('transcript', ({ text, final }) => text === 'Okay.' && final);
    expect(rig.model.sessions).toHaveLength(1);
    expect(rig.desk.activeCalls).toBe(1);
    expect(rig.model.violations).toEqual([]);
  });

  it('belongs to the newest connection, even while the old one still is there', async () => {
    const rig = await pageRig();
    const headers = await rig.owner();
    const old = await rig.call(headers);
    const { callId } = await old.next('welcome');

    const newer = await rig.call(headers, { callId });

    expect(await old.closed).toBe(1000);
    newer.say({ type: 'text', text: 'hello' });
    await newer.next('transcript', ({ text }) => text === 'Okay.');
    expect(rig.desk.call(callId)?.isAttached).toBe(true);
  });

  it('is nobody else’s to take over, and nobody’s once it is over', async () => {
    const rig = await pageRig();
    const headers = await rig.guest();
    const page = await rig.call(headers);
    const { callId } = await page.next('welcome');
    const ask = async (who: Record<string, string>, id = callId) =>
      errorOf(await rig.post(`/page/calls?call=${id}`, { transport: 'socket' }, who));
    const notFound = { status: 404, code: 'CALL_NOT_FOUND' };

    expect(await ask(await rig.guest())).toEqual(notFound);
    expect(await ask(await rig.owner())).toEqual(notFound);
    expect(await ask(headers, randomBytes(16).toString('hex'))).toEqual(notFound);
    expect(await ask(headers, 'x')).toEqual(notFound);
    page.close(1000);
    await until('the call ended', () => rig.desk.activeCalls === 0);
    expect(await ask(headers)).toEqual(notFound);
  });

  it('needs its ticket, once, from our own page', async () => {
    const rig = await pageRig();
    const headers = await rig.owner();
    const answer = await rig.post('/page/calls', { transport: 'socket' }, headers);
    const { socket } = (await answer.json()) as { socket: string };
    const url = `${rig.url.replace('http', 'ws')}${socket}`;

    expect(await refusedStatus(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`)).toBe(401);
    const foreign = new WebSocket(url, { headers: { origin: 'https://evil.example' } });
    const status = await new Promise((resolve) => {
      foreign.on('unexpected-response', (_, response) => resolve(response.statusCode));
      foreign.on('error', () => {});
    });
    expect(status).toBe(403);
    const ws = new WebSocket(url, { headers: { origin: rig.url } });
    await new Promise((resolve) => ws.once('open', resolve));
    expect(await refusedStatus(url)).toBe(401);
    ws.close(1000);
  });

  it('is one of so many of its session, and not there for nobody in allowFrom', async () => {
    const rig = await pageRig();
    const guest = await rig.guest();
    for (let i = 0; i < MAX_GUEST_CALLS; i++) await rig.call(guest);

    expect(await errorOf(await rig.post('/page/calls', { transport: 'socket' }, guest))).toEqual({
      status: 429,
      code: 'TOO_MANY_CONNECTIONS',
    });
    expect(await (await rig.get('/page/session', guest)).json()).toMatchObject({
      canCall: false,
      whyNot: 'TOO_MANY_CONNECTIONS',
    });
    await closePageRigs();
    const closed = await pageRig({ config: { allowFrom: [] } });
    expect(
      await errorOf(await closed.post('/page/calls', { transport: 'socket' }, await closed.owner())),
    ).toEqual({
      status: 403,
      code: 'CALL_REFUSED',
    });
  });

  it('of one address are so many at once, whoever they are', async () => {
    const rig = await pageRig({ config: { page: { maxCallsPerAddress: 1 } } });
    await rig.call(await rig.owner());

    const answer = await rig.post('/page/calls', { transport: 'socket' }, await rig.guest());

    expect(await errorOf(answer)).toEqual({ status: 429, code: 'TOO_MANY_CONNECTIONS' });
  });

  it('shows a guest which tool runs, and nothing of what it was given or gave', async () => {
    const rig = await pageRig();
    const page = await rig.call(await rig.guest());
    await page.greeted();

    page.say({ type: 'text', text: 'use look_up {"who":"Bob"}' });
    const ended = await page.next('tool', ({ phase }) => phase === 'ended');

    expect(ended).toMatchObject({ name: 'look_up', isError: false });
    expect(JSON.stringify(page.events.filter(({ type }) => type === 'tool'))).not.toMatch(/Bob|look_up done/);
    const owner = await rig.call(await rig.owner());
    await owner.greeted();
    owner.say({ type: 'text', text: 'use look_up {"who":"Bob"}' });
    expect(await owner.next('tool', ({ phase }) => phase === 'started')).toMatchObject({
      args: expect.stringContaining('Bob'),
    });
    expect(await owner.next('tool', ({ phase }) => phase === 'ended')).toMatchObject({
      output: 'look_up done',
    });
  });

  it('ends when its guest is sent away', async () => {
    const rig = await pageRig();
    const guest = await rig.guest();
    const page = await rig.call(guest);

    await fetch(`${rig.url}/page/session`, { method: 'DELETE', headers: guest });

    await page.closed;
    await until('the call ended', () => rig.desk.activeCalls === 0);
  });

  it('asks nobody who is muted whether they are there, until they are back on another connection', async () => {
    const rig = await pageRig({ peers: false });
    const headers = await rig.owner();
    const page = await rig.call(headers);
    const { callId } = await page.next('welcome');
    const call = rig.desk.call(callId);
    const told: boolean[] = [];
    if (call) call.callerMuted = (isMuted) => told.push(isMuted);

    page.say({ type: 'mute', muted: true });
    await until('the call knows', () => told.length === 1);
    await rig.call(headers, { callId });

    expect(told).toEqual([true, false]);
  });

  it('tells its page of its end, when the end is ours', async () => {
    const rig = await pageRig({ peers: false });
    const page = await rig.call(await rig.owner());
    const { callId } = await page.next('welcome');

    rig.desk.call(callId)?.end('shutdown');

    expect(await page.next('ended')).toMatchObject({ reason: expect.any(String) });
    expect(await page.closed).toBe(1000);
  });

  it('refuses a body that is no request for one', async () => {
    const rig = await pageRig();
    const owner = await rig.owner();
    expect(await errorOf(await rig.post('/page/calls', { transport: 'pigeon' }, owner))).toEqual({
      status: 400,
      code: 'REQUEST_INVALID',
    });
    expect(
      await errorOf(await rig.post('/page/calls', 'hello', { ...owner, 'content-type': 'text/plain' })),
    ).toEqual({ status: 415, code: 'PAGE_MEDIA_TYPE' });
  });
});
