/** `start --workers 2`: what belongs to a call reaches the process that has it, whichever connection it comes on. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { realClock } from '../../src/clock.ts';
import { sign } from '../../src/server/twilio/signature.ts';
import { FakeCarrier, FakeModel } from '../../src/testing/index.ts';
import { slotOfHex, slotOfSecret } from '../../src/worker-slot.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { AUTH_TOKEN, callFields, offerOf, postSigned } from '../server/rig.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';
import { childrenOf, eventually, isAlive } from './worker-processes.ts';

const TIMEOUT = 120_000;
const model = new FakeModel().onTurn(() => []);
let home: TestHome;
let gateway: GatewayProcess;
let url = '';
let token = '';
const carriers: FakeCarrier[] = [];
const started: GatewayProcess[] = [];
let calls = 0;

beforeAll(async () => {
  const baseUrl = await model.listen();
  home = new TestHome({
    server: { port: 0, metricsPort: 0, drainTimeoutS: 60 },
    model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
    carriers: { twilio: { authToken: AUTH_TOKEN } },
    limits: { maxCalls: 6 },
    greeting: '',
  });
  await startGateway();
}, TIMEOUT);

afterAll(async () => {
  for (const carrier of carriers) carrier.hangup();
  for (const each of started) each.child.kill('SIGKILL');
  await model.close();
  home?.remove();
});

async function startGateway(): Promise<void> {
  gateway = new GatewayProcess(home, {}, ['--workers', '2']);
  started.push(gateway);
  url = await gateway.listening();
  token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? token;
}

interface Placed {
  readonly callSid: string;
  readonly slot: number | null;
  readonly stream: string;
  readonly token: string;
  readonly resumeUrl: string;
  readonly callId: string;
}

async function placeCall(): Promise<Placed> {
  calls += 1;
  const callSid = `CA${String(calls).padStart(32, '0')}`;
  const answer = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: callSid }));
  return placed(callSid, await answer.text());
}

function placed(callSid: string, twiml: string): Placed {
  const { url: stream, token: secret } = offerOf(twiml);
  const resumeUrl = /<Redirect[^>]*>([^<]+)</.exec(twiml)?.[1] ?? '';
  const callId = /resume\/([0-9a-f]{32})\//.exec(resumeUrl)?.[1] ?? '';
  return { callSid, slot: slotOfSecret(secret, 43), stream, token: secret, resumeUrl, callId };
}

async function answerCall({ callSid, stream, token: secret }: Placed): Promise<FakeCarrier> {
  const carrier = await FakeCarrier.connect(stream, {
    clock: realClock,
    callSid,
    customParameters: { token: secret },
  });
  carriers.push(carrier);
  carrier.start();
  return carrier;
}

async function api<T>(path: string): Promise<T> {
  const answer = await fetch(`${url}/operator/api/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return (await answer.json()) as T;
}

interface Row {
  readonly id: string;
  readonly endReason: string | null;
}

const rowOf = async (id: string) => (await api<{ calls: Row[] }>('calls')).calls.find((row) => row.id === id);
const liveCalls = async () => (await api<{ calls: { live: number } }>('status')).calls.live;

describe('a phone call', { timeout: TIMEOUT }, () => {
  it('has its webhook and its stream in one worker, calls of two workers crosswise', async () => {
    const [one, two] = [await placeCall(), await placeCall()];
    expect(new Set([one.slot, two.slot])).toEqual(new Set([0, 1]));
    expect([slotOfHex(one.callId), slotOfHex(two.callId)]).toEqual([one.slot, two.slot]);

    // Whoever comes next is dealt to the worker whose turn it is; these come in the other order, with others between.
    await fetch(`${url}/healthz`);
    const second = await answerCall(two);
    const first = await answerCall(one);
    await eventually('both are on the line', async () => (await liveCalls()) === 2);

    // Asked again, the webhook of a call whose stream is open is a replay: only its own worker knows that.
    const again = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: one.callSid }));
    expect(again.status).toBe(409);
    // The carrier's word about a call ends that call.
    await postSigned(`${url}/twilio/status`, callFields({ CallSid: two.callSid, CallStatus: 'completed' }));
    await second.whenClosed();
    expect(first.isClosed).toBe(false);
    await eventually('its end is written down', async () => (await rowOf(two.callId))?.endReason !== null);
    first.hangup();
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
  });

  it('goes on in its own worker when its stream breaks off', async () => {
    const call = await placeCall();
    const carrier = await answerCall(call);
    await eventually('it is on the line', async () => (await liveCalls()) === 1);
    carrier.reset();
    const resumed = await postSigned(call.resumeUrl, callFields({ CallSid: call.callSid }));
    const next = placed(call.callSid, await resumed.text());
    expect([next.slot, next.callId]).toEqual([call.slot, call.callId]);
    (await answerCall(next)).hangup();
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
  });

  it('is hung up by an operator whom another worker serves', async () => {
    const [one, two] = [await placeCall(), await placeCall()];
    const both = [await answerCall(one), await answerCall(two)];
    for (const { callId } of [one, two]) {
      const answer = await fetch(`${url}/operator/api/calls/${callId}/hangup`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).toBe(202);
    }
    await Promise.all(both.map((carrier) => carrier.whenClosed()));
    await eventually('their records are there', async () => {
      const { calls: rows } = await api<{ calls: (Row & { hasRecord: boolean })[] }>('calls');
      return [one, two].every(({ callId }) => rows.find(({ id }) => id === callId)?.hasRecord);
    });
  });

  it('finds a line while there is one in all, and no more of them', async () => {
    const six: Placed[] = [];
    for (let index = 0; index < 6; index += 1) six.push(await placeCall());
    const streams = await Promise.all(six.map(answerCall));
    const [a, b] = [six.filter(({ slot }) => slot === 0), six.filter(({ slot }) => slot === 1)];
    expect([a.length, b.length]).toEqual([3, 3]);
    const refused = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: 'CAbusy' }));
    expect(await refused.text()).toContain('All lines are busy');
    for (const stream of streams) stream.hangup();
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
  });
});

describe('a connection', { timeout: TIMEOUT }, () => {
  it('is closed after its answer: the next request may be for another worker', async () => {
    const answer = await fetch(`${url}/healthz`);
    expect(answer.headers.get('connection')).toBe('close');
    expect(await answer.json()).toEqual({ status: 'ok', workers: { running: 2, of: 2 } });
    const startedAt = performance.now();
    // Closed from our side, and what was sent behind it is not run: it may have been for another worker.
    const both = await raw(
      'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n',
      1000,
    );
    expect(both.match(/^HTTP\/1.1 \d+/gm)?.[0]).toBe('HTTP/1.1 200');
    expect(both).not.toContain('draining');
    expect(performance.now() - startedAt).toBeLessThan(4000);
  });

  it('loses nothing of a request that comes byte by byte, nor of a body that nobody peeked at', async () => {
    const [one, two] = [await placeCall(), await placeCall()];
    for (const { callSid } of [one, two]) {
      // In its own worker a webhook sent again has the same answer.
      const form = new URLSearchParams(callFields({ CallSid: callSid }));
      const answer = await raw(
        `POST /twilio/voice HTTP/1.1\r\nHost: x\r\nX-Twilio-Signature: ${sign(`${url}/twilio/voice`, form, AUTH_TOKEN)}\r\n` +
          `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${String(form).length}\r\n\r\n${form}`,
        1,
      );
      expect(answer).toContain([one, two].find((each) => each.callSid === callSid)?.token);
    }
    const body = `{"token":"${'x'.repeat(190)}"}${' '.repeat(30_000)}`;
    for (const size of [700, 7000, 40_000]) {
      const answer = await raw(
        `POST /operator/login HTTP/1.1\r\nHost: ${new URL(url).host}\r\nOrigin: ${url}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        size,
      );
      // Read to its end and understood: the token is wrong, the body was not.
      expect(answer).toMatch(/^HTTP\/1.1 401 [\s\S]*OPERATOR_AUTH_REQUIRED/);
    }
    for (const call of [one, two]) (await answerCall(call)).hangup();
  });

  async function raw(text: string, chunk: number): Promise<string> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.setNoDelay(true);
    let answer = '';
    socket.on('data', (data) => {
      answer += String(data);
    });
    for (let at = 0; at < text.length; at += chunk) {
      socket.write(text.slice(at, at + chunk));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await once(socket, 'close');
    return answer;
  }
});

describe('a page', { timeout: TIMEOUT }, () => {
  const page = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { origin: url, ...init.headers } });
  const json = { 'content-type': 'application/json' };

  async function login(): Promise<string> {
    const answer = await page('/operator/login', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ token }),
    });
    return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  }

  async function guest(cookie: string): Promise<{ cookie: string; slot: number | null }> {
    const made = await page('/page/links', { method: 'POST', headers: { ...json, cookie }, body: '{}' });
    const { code } = (await made.json()) as { code: string };
    const opened = await page('/page/session', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ code }),
    });
    expect(opened.status).toBe(200);
    const own = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const secret = own.split('=')[1] ?? '';
    expect(slotOfSecret(secret, 43)).toBe(slotOfSecret(code.slice(2), 32));
    return { cookie: own, slot: slotOfSecret(secret, 43) };
  }

  it('is known wherever its requests come from, operator or guest, and so are its sockets', async () => {
    // Guests are spread by how many calls each worker has.
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
    const operators = [await login(), await login()];
    expect(new Set(operators.map((each) => slotOfSecret(each.split('=')[1] ?? '', 43)))).toEqual(
      new Set([0, 1]),
    );
    for (const cookie of [...operators, ...operators])
      expect((await page('/operator/api/session', { headers: { cookie } })).status).toBe(200);

    const open: WebSocket[] = [];
    const slots = new Set<number | null>();
    for (const operator of operators) {
      const { cookie, slot } = await guest(operator);
      slots.add(slot);
      const offered = await page('/page/calls', {
        method: 'POST',
        headers: { ...json, cookie },
        body: '{"transport":"socket"}',
      });
      const { socket, call } = (await offered.json()) as { socket: string; call: string };
      expect(slotOfHex(call)).toBe(slot);
      const ws = new WebSocket(`${url.replace('http', 'ws')}${socket}`, { origin: url });
      open.push(ws);
      await once(ws, 'open');
      const view = await page('/page/session', { headers: { cookie } });
      expect(await view.json()).toMatchObject({ role: 'guest', call });
    }
    expect(slots).toEqual(new Set([0, 1]));
    // Each operator sees both guests, and takes the other worker's guest away.
    for (const operator of operators) {
      const list = await page('/page/links', { headers: { cookie: operator } });
      const { guests } = (await list.json()) as { guests: { id: string }[] };
      const gone = Promise.race(open.map((ws) => once(ws, 'close')));
      const [first] = guests;
      const removed = await page(`/page/links/${first?.id}`, {
        method: 'DELETE',
        headers: { cookie: operator },
      });
      expect(removed.status).toBe(204);
      await gone;
      open.splice(0, 2, ...open.filter((ws) => ws.readyState === WebSocket.OPEN));
    }
  });

  it('calls by WHIP in one worker: POST, PATCH and DELETE', async () => {
    const operator = await login();
    const guests = [await guest(operator), await guest(operator)];
    const peers = guests.map(() => new WeriftPeer());
    try {
      const locations = [];
      for (const [index, { cookie, slot }] of guests.entries()) {
        const answer = await page('/page/calls', {
          method: 'POST',
          headers: { cookie, 'content-type': 'application/sdp' },
          body: await peers[index]!.offer(),
        });
        expect(answer.status).toBe(201);
        const location = answer.headers.get('location') ?? '';
        expect(slotOfHex(location.split('/').at(-1) ?? '')).toBe(slot);
        await peers[index]!.accept(await answer.text());
        locations.push({ location, cookie });
      }
      await Promise.all(peers.map((peer) => peer.whenConnected()));
      for (const { location, cookie } of locations.toReversed()) {
        const patched = await page(location, {
          method: 'PATCH',
          headers: { cookie, 'content-type': 'application/trickle-ice-sdpfrag' },
          body: 'a=ice-ufrag:none\r\n',
        });
        // The worker that has the connection reads the fragment, and finds fault with it; another would know nothing of it.
        expect(((await patched.json()) as { error: { code: string } }).error.code).toMatch(/^WEBRTC_/);
        expect((await page(location, { method: 'DELETE', headers: { cookie } })).status).toBe(200);
      }
    } finally {
      await Promise.all(peers.map((peer) => peer.close()));
    }
  });
});

describe('a worker that is killed', { timeout: TIMEOUT }, () => {
  it('takes only its calls with it; they go on elsewhere, the records say so, and it is replaced', async () => {
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
    const both = [await placeCall(), await placeCall()];
    const lost = both.find(({ slot }) => slot === 1)!;
    const kept = both.find(({ slot }) => slot === 0)!;
    const [keptStream, lostStream] = [await answerCall(kept), await answerCall(lost)];
    await eventually('both are on the line', async () => (await liveCalls()) === 2);
    await eventually('and written down', async () =>
      Boolean((await rowOf(lost.callId)) && (await rowOf(kept.callId))),
    );

    const workers = childrenOf(gateway.child.pid ?? 0);
    process.kill(workers[1] ?? 0, 'SIGKILL');
    await lostStream.whenClosed();
    // What Twilio does next: it asks at the address that its instructions named.
    const resumed = await postSigned(lost.resumeUrl, callFields({ CallSid: lost.callSid }));
    const next = placed(lost.callSid, await resumed.text());
    expect(next.slot).toBe(0);
    expect(next.callId).not.toBe(lost.callId);
    const again = await answerCall(next);

    expect(keptStream.isClosed).toBe(false);
    expect((await rowOf(lost.callId))?.endReason).toBe('crashed');
    expect((await rowOf(kept.callId))?.endReason).toBeNull();
    await eventually('it is replaced', async () => {
      const health = (await (await fetch(`${url}/healthz`)).json()) as { workers: { running: number } };
      return health.workers.running === 2;
    });
    const fresh = await placeCall();
    expect(fresh.slot).toBe(1);
    const freshStream = await answerCall(fresh);
    await eventually('all are on the line', async () => (await liveCalls()) === 3);
    expect((await rowOf(kept.callId))?.endReason).toBeNull();
    // Of a call that nobody knows anything about there is an apology left.
    const unknown = lost.resumeUrl.replace(lost.callId, `01${'0'.repeat(30)}`);
    const sorry = await postSigned(unknown, callFields({ CallSid: 'CAunknown' }));
    expect(await sorry.text()).toContain('Sorry, something went wrong on our side.');
    const address = /Metrics\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
    const metrics = await (await fetch(address)).text();
    expect(metrics).toMatch(/^nanobot_realtime_active_calls 3$/m);
    expect(metrics).toMatch(/^nanobot_realtime_worker_restarts 1$/m);
    for (const stream of [keptStream, again, freshStream]) stream.hangup();
    await eventually('nobody is on the line', async () => (await liveCalls()) === 0);
  });
});

describe('its end', { timeout: TIMEOUT }, () => {
  it('lets calls end in every worker, takes no new ones, and leaves nothing', async () => {
    const both = [await placeCall(), await placeCall()];
    const streams = [await answerCall(both[0]!), await answerCall(both[1]!)];
    await eventually('both are on the line', async () => (await liveCalls()) === 2);
    const workers = childrenOf(gateway.child.pid ?? 0);
    gateway.child.kill('SIGTERM');
    await eventually('it says so', () => gateway.stdout.includes('SIGTERM: no new calls; 2 running.'));
    await eventually('it is not ready', async () => (await fetch(`${url}/readyz`)).status === 503);
    const next = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: 'CAlate' }));
    expect(await next.text()).toContain('We are restarting.');
    expect(streams.map((each) => each.isClosed)).toEqual([false, false]);
    for (const stream of streams) stream.hangup();
    expect(await gateway.exit).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
    expect(gateway.stdout + gateway.stderr).not.toContain('5550100');
  });

  it('is at once on the second signal, and when the process that listens is killed', async () => {
    await startGateway();
    await answerCall(await placeCall());
    await eventually('it is on the line', async () => (await liveCalls()) === 1);
    let workers = childrenOf(gateway.child.pid ?? 0);
    gateway.child.kill('SIGTERM');
    await eventually('it says so', () => gateway.stdout.includes('SIGTERM: '));
    gateway.child.kill('SIGTERM');
    expect(await gateway.exit).toBe(1);
    await eventually('they are gone', () => workers.filter(isAlive).length === 0);

    await startGateway();
    // What it left open when it was killed is closed by the next one.
    expect(
      (await api<{ calls: Row[] }>('calls')).calls.filter(({ endReason }) => endReason === null),
    ).toEqual([]);
    workers = childrenOf(gateway.child.pid ?? 0);
    expect(workers).toHaveLength(2);
    gateway.child.kill('SIGKILL');
    await eventually('they are gone', () => workers.filter(isAlive).length === 0);
  });
});
