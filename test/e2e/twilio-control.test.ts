/** `npm start` on a phone call whose stream breaks off, that presses keys, is transferred, and is hung up at Twilio. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import {
  call,
  FakeCallControl,
  type FakeCarrier,
  FakeModel,
  FakePhoneCall,
  say,
  tone,
} from '../../src/testing/index.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const AUTH_TOKEN = 'e2e-auth-token';
const API_KEY = 'e2e-api-key';
const TARGET = '+15550123';
const PUBLIC = 'https://voice.example.com';

describe('a call that npm start has changed at Twilio', () => {
  const model = new FakeModel({ apiKey: API_KEY });
  const speech = encodeG711(tone(900, 300, 8000, 0.5).samples, 'pcmu');
  let turn: () => ReturnType<Parameters<FakeModel['onTurn']>[0]> = () => [];
  let api: FakeCallControl;
  let home: TestHome;
  let gateway: GatewayProcess;
  let url = '';
  let calls = 0;

  beforeAll(async () => {
    model.onTurn(({ trigger, toolOutputs }) =>
      toolOutputs.length === 0 && trigger === 'speech' ? turn() : [say('It is done.', { durationMs: 700 })],
    );
    const baseUrl = await model.listen();
    api = await FakeCallControl.listen({ secret: AUTH_TOKEN });
    home = new TestHome({
      server: { port: 0, publicUrl: PUBLIC },
      model: { provider: 'openai-compatible', baseUrl, apiKey: API_KEY },
      carriers: { twilio: { accountSid: api.accountSid, baseUrl: api.baseUrl } },
      transfers: [{ name: 'sales', target: TARGET }],
      greeting: '',
    });
    gateway = new GatewayProcess(home, { TWILIO_AUTH_TOKEN: AUTH_TOKEN });
    url = await gateway.listening();
  });

  afterAll(async () => {
    gateway?.child.kill('SIGKILL');
    await model.close();
    await api.close();
    home?.remove();
  });

  async function phone(): Promise<{ twilio: FakePhoneCall; stream: FakeCarrier }> {
    calls += 1;
    const twilio = FakePhoneCall.dial(
      { webhookUrl: `${url}/twilio/voice`, publicUrl: PUBLIC, authToken: AUTH_TOKEN },
      { clock: realClock, callSid: `CA${String(calls).padStart(32, '0')}` },
    );
    api.add(twilio);
    return { twilio, stream: await twilio.whenStream(1) };
  }

  const heardMs = (stream: FakeCarrier) =>
    stream.heardSegments().reduce((ms, { startMs, endMs }) => ms + endMs - startMs, 0);

  it('comes back after its stream broke off, and the caller hears all of the answer', async () => {
    turn = () => [say('A long answer.', { durationMs: 3000 })];
    const { twilio, stream } = await phone();
    void stream.speak(speech);
    await stream.whenAgentSpeaks();
    await stream.wait(800);
    stream.reset();
    const second = await twilio.whenStream(2);
    await second.whenAgentIdle(600);

    expect(heardMs(stream)).toBeGreaterThan(400);
    expect(heardMs(stream) + heardMs(second)).toBeGreaterThanOrEqual(2900);
    expect(model.sessions).toHaveLength(1);
    twilio.hangup();
    expect(twilio.errors).toEqual([]);
  });

  it('presses keys between two streams, and then says so', async () => {
    turn = () => [say('One moment.', { durationMs: 500 }), call('send_dtmf', { digits: '42#' })];
    const { twilio, stream } = await phone();
    void stream.speak(speech);
    const second = await twilio.whenStream(2);
    await second.whenAgentIdle(400);

    expect(twilio.keys).toEqual(['42#']);
    expect(heardMs(second)).toBeGreaterThanOrEqual(600);
    twilio.hangup();
    expect(twilio.errors).toEqual([]);
  });

  it('is transferred to the number of the config after the caller heard where to', async () => {
    turn = () => [say('To sales, then.', { durationMs: 900 }), call('transfer_call', { to: 'sales' })];
    const { twilio, stream } = await phone();
    void stream.speak(speech);
    await twilio.ended;

    expect(heardMs(stream)).toBeGreaterThanOrEqual(880);
    expect(twilio.dialled).toEqual([TARGET]);
    expect(twilio.errors).toEqual([]);
  });

  it('is hung up at Twilio when its goodbye was heard', async () => {
    turn = () => [say('Goodbye.', { durationMs: 900 }), call('end_call')];
    const { twilio, stream } = await phone();
    void stream.speak(speech);
    await twilio.ended;

    expect(heardMs(stream)).toBeGreaterThanOrEqual(880);
    expect(api.requests.filter(({ form }) => form.Status === 'completed')).toMatchObject([
      { callSid: twilio.callSid },
    ]);
    expect(twilio.errors).toEqual([]);
  });

  it('goes on with a new process when the first one died, greeted once', async () => {
    turn = () => [say('Here I am.', { durationMs: 700 })];
    const { twilio, stream } = await phone();
    void stream.speak(speech);
    await stream.whenAgentIdle(300);
    const sessions = model.sessions.length;
    const { port } = new URL(url);
    // Twilio asks when the stream breaks: by then the next process listens, as behind a supervisor.
    let isUp = () => {};
    const up = new Promise<void>((resolve) => {
      isUp = resolve;
    });
    twilio.holdWebhooks(up);
    gateway.child.kill('SIGKILL');
    await gateway.exit;
    gateway = new GatewayProcess(home, { TWILIO_AUTH_TOKEN: AUTH_TOKEN }, ['--port', port]);
    await gateway.listening();
    isUp();
    const second = await twilio.whenStream(2);
    // Told what happened, the model says that it is back; then the caller goes on.
    await second.whenAgentIdle(300);
    expect(heardMs(second)).toBeGreaterThanOrEqual(600);
    const before = heardMs(second);
    void second.speak(speech);
    await second.whenAgentSpeaks();
    await second.whenAgentIdle(300);

    expect(model.sessions.length).toBe(sessions + 1);
    expect(heardMs(second) - before).toBeGreaterThanOrEqual(600);
    twilio.hangup();
    expect(twilio.errors).toEqual([]);
  });

  it('was refused nothing on the way, and left no number and no key in the log', async () => {
    expect(api.violations).toEqual([]);
    expect(await gateway.stop()).toBe(0);
    const output = gateway.stdout + gateway.stderr;
    for (const secret of ['5550100', '5550123', '42#', AUTH_TOKEN]) expect(output).not.toContain(secret);
  });
});
