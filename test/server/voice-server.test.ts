import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { READY_CACHE_MS, READY_CHECK_TIMEOUT_MS } from '../../src/server/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { callFields, closeRigs, openSocket, postSigned, ring, startMessage, startRig, until } from './rig.ts';

afterEach(closeRigs);

describe('the server', () => {
  it('says that it lives', async () => {
    const { url } = await startRig();
    const answer = await fetch(`${url}/healthz`);
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('answers what it does not have with a coded 404', async () => {
    const { url } = await startRig();
    for (const [path, method] of [
      ['/', 'GET'],
      ['/twilio', 'GET'],
      ['/healthz', 'POST'],
      ['/metrics', 'GET'],
    ]) {
      const answer = await fetch(`${url}${path}`, { method: method ?? 'GET' });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: 'ROUTE_NOT_FOUND' } });
    }
  });

  it('is ready when every part of it works', async () => {
    const clock = new FakeClock();
    let storeWorks = true;
    let asked = 0;
    const { url } = await startRig({
      clock,
      checks: {
        model: async () => {},
        store: async () => {
          asked += 1;
          if (!storeWorks) throw new Error('a secret path');
        },
      },
    });
    const readyz = async () => {
      const answer = await fetch(`${url}/readyz`);
      return [answer.status, await answer.json()];
    };
    const ok = { status: 'ready', draining: false, checks: { model: 'ok', store: 'ok' } };
    expect(await readyz()).toEqual([200, ok]);
    storeWorks = false;
    expect(await readyz()).toEqual([200, ok]);
    expect(asked).toBe(1);
    await clock.advance(READY_CACHE_MS);
    expect(await readyz()).toEqual([
      503,
      { status: 'not_ready', draining: false, checks: { model: 'ok', store: 'failed' } },
    ]);
  });

  it('is not ready when a part of it hangs', async () => {
    const clock = new FakeClock();
    const { url } = await startRig({ clock, checks: { store: () => new Promise(() => {}) } });
    const answer = fetch(`${url}/readyz`);
    await until('the check runs', () => clock.pendingTimers === 1);
    await clock.advance(READY_CHECK_TIMEOUT_MS);
    expect((await answer).status).toBe(503);
  });

  it('shows metrics on a loopback port of their own, without anything of a caller', async () => {
    const rig = await startRig({ config: { server: { metricsPort: 0 } } });
    const { token } = await ring(rig);
    const answer = await fetch(rig.metricsUrl ?? '');
    const text = await answer.text();
    expect(new URL(rig.metricsUrl ?? '').hostname).toBe('127.0.0.1');
    expect(text).toContain('nanobot_realtime_pending_calls 1');
    expect(text).toContain('nanobot_realtime_http_requests_total{route="twilio_voice",status="200"} 1');
    expect(text).not.toContain(token);
    expect(text).not.toContain('+1555');
  });

  it('says plainly when its port is taken', async () => {
    const first = await startRig();
    const port = Number(new URL(first.url).port);
    await expect(startRig({ config: { server: { port } } })).rejects.toMatchObject({
      code: 'ADDRESS_IN_USE',
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
  });

  it('says plainly when the machine has no such address', async () => {
    await expect(startRig({ config: { server: { host: '192.0.2.1' } } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('takes no new calls while it lets the running ones end, then closes everything', async () => {
    const rig = await startRig({ config: { server: { drainTimeoutS: 7 } } });
    const admittedBefore = await ring(rig);
    let finish = () => {};
    rig.desk.drainGate = new Promise((resolve) => {
      finish = resolve;
    });

    const closing = rig.server.close();

    expect(rig.desk.drained).toEqual([7000]);
    const ready = await fetch(`${rig.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, expect.objectContaining({ draining: true })]);
    const refused = await postSigned(`${rig.url}/twilio/voice`, callFields({ CallSid: 'CAnew' }));
    expect(await refused.text()).toContain('We are restarting.');
    expect(rig.desk.admitted).toHaveLength(1);
    // A call that was let in before still gets its stream.
    const ws = await openSocket(admittedBefore.url);
    ws.send(startMessage({ token: admittedBefore.token }));
    await until('the leg is attached', () => rig.desk.attached.length === 1);

    finish();
    await closing;
    await once(ws, 'close');
    await expect(fetch(`${rig.url}/healthz`)).rejects.toThrow();
    await rig.server.close();
    expect(rig.desk.drained).toHaveLength(1);
  });

  it('closes connections that never say anything', async () => {
    const rig = await startRig();
    const socket = connect(Number(new URL(rig.url).port), '127.0.0.1');
    await once(socket, 'connect');
    // Cut rather than closed politely: a reset is as good an end as any.
    socket.on('error', () => {});
    socket.write('GET /healthz HT');
    const gone = new Promise((resolve) => socket.on('close', resolve));
    await rig.server.close();
    await gone;
    expect(socket.destroyed).toBe(true);
  });
});
