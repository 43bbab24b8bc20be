import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../src/clock.ts';
import { FakeCarrier, FakeModel } from '../../src/testing/index.ts';
import { AUTH_TOKEN, callFields, offerOf, postSigned } from '../server/rig.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

describe('npm start, told to stop while somebody is on the line', () => {
  const model = new FakeModel().onTurn(() => []);
  let home: TestHome;
  let gateway: GatewayProcess;
  let url = '';
  let caller: FakeCarrier;

  beforeAll(async () => {
    const baseUrl = await model.listen();
    home = new TestHome({
      server: { port: 0, drainTimeoutS: 60 },
      model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
      carriers: { twilio: { authToken: AUTH_TOKEN } },
      greeting: '',
    });
  });

  afterEach(() => {
    caller?.hangup();
    gateway?.child.kill('SIGKILL');
  });

  afterAll(async () => {
    await model.close();
    home?.remove();
  });

  async function startWithCall(): Promise<void> {
    gateway = new GatewayProcess(home);
    url = await gateway.listening();
    const callSid = 'CA01';
    const answer = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: callSid }));
    const { url: stream, token } = offerOf(await answer.text());
    caller = await FakeCarrier.connect(stream, { clock: realClock, callSid, customParameters: { token } });
    caller.start();
    await caller.wait(300);
  }

  /** Sends a signal and waits until the process says that it has seen it. */
  async function signal(name: NodeJS.Signals): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      gateway.child.stdout?.on('data', () => gateway.stdout.includes(`${name}: `) && resolve());
    });
    gateway.child.kill(name);
    await seen;
  }

  it('takes no new calls, lets the running one end, and is gone with it', async () => {
    await startWithCall();
    await signal('SIGTERM');
    expect(gateway.stdout).toContain('SIGTERM: no new calls; 1 running.');

    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, expect.objectContaining({ draining: true })]);
    const next = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: 'CA02' }));
    expect(await next.text()).toContain('We are restarting.');
    expect(caller.isClosed).toBe(false);

    caller.hangup();
    expect(await gateway.exit).toBe(0);
  });

  it('ends at once on the second signal', async () => {
    await startWithCall();
    await signal('SIGINT');
    expect(caller.isClosed).toBe(false);
    gateway.child.kill('SIGTERM');
    expect(await gateway.exit).toBe(1);
    expect(gateway.stderr).toContain('SIGTERM again: ending at once.');
  });
});
