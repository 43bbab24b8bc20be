/** What callers hear when the worker that has their call is killed, as Twilio would have it: verb by verb. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { encodeG711 } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { FakeModel, FakePhoneCall, say, tone } from '../../src/testing/index.ts';
import { slotOfHex, slotOfSecret } from '../../src/worker-slot.ts';
import { AUTH_TOKEN, offerOf } from '../server/rig.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';
import { childrenOf, eventually } from './worker-processes.ts';

/** The key that the model takes; with another one it answers 401. */
const access = { apiKey: 'k' };
const model = new FakeModel(access).onTurn(() => [say('At your service.', { durationMs: 400 })]);
const speech = encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu');
const gateways: { readonly gateway: GatewayProcess; readonly home: TestHome }[] = [];
let baseUrl = '';
let calls = 0;

beforeAll(async () => {
  baseUrl = await model.listen();
});

afterAll(async () => {
  for (const { gateway, home } of gateways) {
    gateway.child.kill('SIGKILL');
    home.remove();
  }
  await model.close();
});

interface Running {
  readonly url: string;
  readonly home: TestHome;
  /** The operator's. */
  readonly token: string;
  /** Ends the worker's process at once. */
  readonly kill: (slot: number) => Promise<void>;
  readonly endReasons: () => Promise<(string | null)[]>;
}

async function start(workers: number): Promise<Running> {
  const home = new TestHome({
    server: { port: 0 },
    model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
    carriers: { twilio: { authToken: AUTH_TOKEN } },
    greeting: '',
  });
  const gateway = new GatewayProcess(home, {}, ['--workers', String(workers)]);
  gateways.push({ gateway, home });
  const url = await gateway.listening();
  const pids = childrenOf(gateway.child.pid ?? 0);
  let killed: number | null = null;
  const token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
  const authorization = `Bearer ${token}`;
  return {
    url,
    home,
    token,
    async kill(slot) {
      const children = () => childrenOf(gateway.child.pid ?? 0);
      await eventually('it was replaced', () => children().length === workers);
      // The one that came since is in the place of the one that was killed.
      const [fresh] = children().filter((pid) => !pids.includes(pid));
      if (killed !== null) pids[killed] = fresh ?? 0;
      killed = slot;
      process.kill(pids[slot] ?? 0, 'SIGKILL');
    },
    async endReasons() {
      const answer = await fetch(`${url}/operator/api/calls`, { headers: { authorization } });
      const { calls: rows } = (await answer.json()) as { calls: { endReason: string | null }[] };
      return rows.map(({ endReason }) => endReason);
    },
  };
}

async function phone({ url }: Running): Promise<{ twilio: FakePhoneCall; slot: number }> {
  calls += 1;
  const twilio = FakePhoneCall.dial(
    { webhookUrl: `${url}/twilio/voice`, authToken: AUTH_TOKEN },
    { clock: realClock, callSid: `CA${String(calls).padStart(32, '0')}` },
  );
  const stream = await twilio.whenStream(1);
  void stream.speak(speech);
  await stream.whenAgentSpeaks();
  return { twilio, slot: slotOfSecret(offerOf(twilio.document).token, 43) ?? -1 };
}

const APOLOGY = 'Sorry, something went wrong on our side. Please call again.';

describe('a caller whose worker is killed', { timeout: 120_000 }, () => {
  it('talks on with another worker; where that one has no model to talk with, they are told so', async () => {
    const running = await start(2);
    const { twilio, slot } = await phone(running);
    await running.kill(slot);
    const second = await twilio.whenStream(2);
    expect(slotOfSecret(offerOf(twilio.document).token, 43)).toBe(1 - slot);
    void second.speak(speech);
    await second.whenAgentSpeaks();
    expect(twilio.verbs).toEqual(['Connect', 'Redirect', 'Connect']);
    expect(await running.endReasons()).toEqual([null, 'crashed']);
    twilio.hangup();
    await eventually('it is over', async () => (await running.endReasons())[0] === 'caller_hangup');

    const next = await phone(running);
    access.apiKey = 'another';
    await running.kill(next.slot);
    await next.twilio.ended;
    access.apiKey = 'k';
    expect(model.refusedHandshakes).toContain(401);
    expect(next.twilio.verbs).toEqual(['Connect', 'Redirect', 'Say', 'Hangup']);
    expect(next.twilio.said).toHaveLength(1);
    expect(next.twilio.said[0]).toMatch(/sorry/i);
    expect([...twilio.errors, ...next.twilio.errors]).toEqual([]);
    expect(await running.endReasons()).toContain('crashed');
  });

  it('on a page is told that the gateway knows neither them nor the call any more, and may log in at once', async () => {
    const running = await start(2);
    const { url } = running;
    const json = { origin: url, 'content-type': 'application/json' };
    const login = async () => {
      const body = JSON.stringify({ token: running.token });
      const answer = await fetch(`${url}/operator/login`, { method: 'POST', headers: json, body });
      return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    };
    const cookie = await login();
    const headers = { ...json, cookie };
    const offer = { method: 'POST', headers, body: '{"transport":"socket"}' };
    const answer = await fetch(`${url}/page/calls`, offer);
    const { socket, call } = (await answer.json()) as { socket: string; call: string };
    const ws = new WebSocket(`${url.replace('http', 'ws')}${socket}`, { origin: url });
    await once(ws, 'open');
    await running.kill(slotOfHex(call) ?? -1);
    await once(ws, 'close');
    // What the page does next: it wants to come back to its call.
    const back = await fetch(`${url}/page/calls?call=${call}`, offer);
    expect(back.status).toBe(401);
    expect(await back.json()).toMatchObject({ error: { code: 'PAGE_AUTH_REQUIRED' } });
    const again = await fetch(`${url}/page/calls`, { ...offer, headers: { ...json, cookie: await login() } });
    expect(again.status).toBe(201);
  });

  it('talks on with the one that replaces it, and hears an apology when none can', async () => {
    const running = await start(1);
    const { twilio } = await phone(running);
    await running.kill(0);
    const second = await twilio.whenStream(2);
    void second.speak(speech);
    await second.whenAgentSpeaks();
    expect(await running.endReasons()).toEqual([null, 'crashed']);

    // No worker can start from this.
    writeFileSync(running.home.config, '{');
    await running.kill(0);
    await twilio.ended;
    expect(twilio.said).toEqual([APOLOGY]);
    expect(twilio.verbs.slice(-2)).toEqual(['Say', 'Hangup']);
  });
});
