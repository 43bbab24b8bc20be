/** `start --workers 2` with a certificate of its own: callers come encrypted, and reach the worker that has their call. */

import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS } from '../../src/server/index.ts';
import { FakeModel, FakePhoneCall, say, tone } from '../../src/testing/index.ts';
import { slotOfSecret } from '../../src/worker-slot.ts';
import { AUTH_TOKEN, offerOf } from '../server/rig.ts';
import { believe, type Certificate, hasOpenssl, makeCertificate } from '../workers/certificate.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';
import { childrenOf, eventually, isAlive } from './worker-processes.ts';

const model = new FakeModel().onTurn(() => [say('At your service.', { durationMs: 2000 })]);
const speech = encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu');
let certificate: Certificate;
let home: TestHome;
let gateway: GatewayProcess;
let url = '';
let token = '';
const phones: FakePhoneCall[] = [];

describe.skipIf(!hasOpenssl)('start --workers with server.tls', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    certificate = makeCertificate();
    believe(certificate);
    home = new TestHome({
      server: { port: 0, tls: { cert: certificate.cert, key: certificate.key }, drainTimeoutS: 60 },
      model: { provider: 'openai-compatible', baseUrl: await model.listen(), apiKey: 'k' },
      carriers: { twilio: { authToken: AUTH_TOKEN } },
      greeting: '',
    });
    gateway = new GatewayProcess(home, {}, ['--workers', '2']);
    url = await gateway.listening();
    token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
  }, 60_000);

  afterAll(async () => {
    for (const phone of phones) phone.hangup();
    gateway?.child.kill('SIGKILL');
    await model.close();
    home?.remove();
    certificate?.remove();
  });

  async function dial(): Promise<{ phone: FakePhoneCall; slot: number | null }> {
    const phone = FakePhoneCall.dial(
      { webhookUrl: `${url}/twilio/voice`, authToken: AUTH_TOKEN },
      { clock: realClock, callSid: `CA${String(phones.length + 1).padStart(32, '0')}` },
    );
    phones.push(phone);
    await phone.whenStream(1);
    return { phone, slot: slotOfSecret(offerOf(phone.document).token, 43) };
  }

  /** TLS processes were started first. */
  const tlsProcess = () => childrenOf(gateway.child.pid ?? 0);

  it('takes calls of both workers, and both hear and speak', async () => {
    expect(url).toMatch(/^https:/);
    const both = [await dial(), await dial()];
    expect(new Set(both.map(({ slot }) => slot))).toEqual(new Set([0, 1]));
    for (const { phone } of both) {
      expect(offerOf(phone.document).url).toMatch(/^wss:/);
      void phone.stream?.speak(speech);
      await phone.stream?.whenAgentSpeaks();
    }
    for (const { phone } of both) phone.hangup();
    expect(both.flatMap(({ phone }) => phone.errors)).toEqual([]);
  });

  it('knows its pages, whichever worker they come to, and marks their cookies', async () => {
    for (let round = 0; round < 2; round += 1) {
      const login = await fetch(`${url}/operator/login`, {
        method: 'POST',
        headers: { origin: url, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      const [cookie = ''] = login.headers.getSetCookie();
      expect(cookie).toMatch(/^__Host-.*; Secure/);
      const again = await fetch(`${url}/operator/api/session`, {
        headers: { cookie: cookie.split(';')[0]! },
      });
      expect(again.status).toBe(200);
    }
  });

  it('counts strangers by their own address', async () => {
    const open = async (localAddress: string) => {
      // `localAddress` is missing in the types of a TLS client, and not in what it does.
      const to = { port: Number(new URL(url).port), host: '127.0.0.1', ca: certificate.pem, localAddress };
      const socket = connect(to);
      socket.on('error', () => {});
      socket.write(
        'GET /twilio/media HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`,
      );
      const [first] = await once(socket, 'data');
      strangers.push(socket);
      return Number(/^HTTP\/1.1 (\d+)/.exec(String(first))?.[1]);
    };
    const strangers: { destroy(): unknown }[] = [];
    const statuses: number[] = [];
    for (let index = 0; index < 2 * MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS + 1; index += 1)
      statuses.push(await open('127.0.0.1'));
    expect(statuses.filter((status) => status === 101)).toHaveLength(
      2 * MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS,
    );
    expect(statuses.at(-1)).not.toBe(101);
    expect(await open('127.0.0.2')).toBe(101);
    for (const socket of strangers) socket.destroy();
  });

  it('lets a call go on in its worker when the process that decrypts dies, and replaces that', async () => {
    const { phone, slot } = await dial();
    const first = phone.stream!;
    const before = tlsProcess();
    process.kill(before[0] ?? 0, 'SIGKILL');
    await first.whenClosed();
    const second = await phone.whenStream(2);
    expect(slotOfSecret(offerOf(phone.document).token, 43)).toBe(slot);
    void second.speak(speech);
    await second.whenAgentSpeaks();
    phone.hangup();
    expect(tlsProcess().slice(0, 2)).toEqual(before.slice(1));
    expect(phone.errors).toEqual([]);
  });

  it('lets a call go on in the other worker when its own dies', async () => {
    const { phone, slot } = await dial();
    process.kill(tlsProcess()[slot ?? 0] ?? 0, 'SIGKILL');
    const second = await phone.whenStream(2);
    expect(slotOfSecret(offerOf(phone.document).token, 43)).toBe(1 - (slot ?? 0));
    void second.speak(speech);
    await second.whenAgentSpeaks();
    phone.hangup();
  });

  it('ends with its last call, says to others meanwhile that it takes none, and leaves nothing', async () => {
    const { phone } = await dial();
    void phone.stream?.speak(speech);
    await phone.stream?.whenAgentSpeaks();
    const processes = tlsProcess();
    gateway.child.kill('SIGTERM');
    await eventually('it says so', () => gateway.stdout.includes('SIGTERM: no new calls; 1 running.'));
    await eventually('it is not ready', async () => (await fetch(`${url}/readyz`)).status === 503);
    expect(phone.stream?.isClosed).toBe(false);
    phone.hangup();
    expect(await gateway.exit).toBe(0);
    expect(processes.filter(isAlive)).toEqual([]);
  });
});
