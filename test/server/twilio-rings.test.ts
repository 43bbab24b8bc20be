/** Calls that the gateway places itself: a double of Twilio's REST API on one side, the phone of who is rung on the other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealtimeVoiceChannel } from '../../src/channel/index.ts';
import { realClock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { VoiceError } from '../../src/errors.ts';
import type { LegCapabilities } from '../../src/leg/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { PublicAddress } from '../../src/server/public-address.ts';
import { MAX_RING_TEXTS, RING_GRACE_MS, Rings } from '../../src/server/twilio/rings.ts';
import { FakeCarrier, FakeClock } from '../../src/testing/index.ts';

const AUTH_TOKEN = 'rings-auth-token';
const OURS = '+15550199';
const ADAS = '+15550142';

describe('a message for somebody who is not on the line', () => {
  let folder: string;
  let api: Server;
  let status: number;
  let placed: Record<string, string>[];
  let channel: RealtimeVoiceChannel;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rings-'));
    status = 201;
    placed = [];
    api = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      placed.push({ path: request.url ?? '', ...Object.fromEntries(new URLSearchParams(body)) });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"sid":"CA01"}');
    });
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    channel = new RealtimeVoiceChannel(
      {
        server: { port: 0 },
        model: { provider: 'command' },
        greeting: '',
        carriers: { twilio: { accountSid: `AC${'1'.repeat(32)}`, authToken: AUTH_TOKEN, baseUrl } },
        ring: { people: [{ chatId: 'ada', number: ADAS }], from: OURS },
      },
      null,
      { parts: { logger: silentLogger, dataDirectory: folder, env: {} } },
    );
    await channel.listen();
  });
  afterEach(async () => {
    await channel.stop();
    api.closeAllConnections();
    api.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const pickUp = (more: { to?: string; params?: Record<string, string> } = {}) =>
    FakeCarrier.dial(
      {
        webhookUrl: `${channel.address}${new URL(placed[0]?.Url ?? '').pathname}`,
        authToken: AUTH_TOKEN,
        from: OURS,
        to: ADAS,
        ...more,
      },
      { clock: realClock, callSid: 'CA01', accountSid: `AC${'1'.repeat(32)}` },
    );

  it('rings their number, and whoever answers hears it, once', async () => {
    await channel.send({ chatId: 'ada', content: 'Your parcel has arrived.' });

    expect(placed).toEqual([
      {
        path: `/2010-04-01/Accounts/AC${'1'.repeat(32)}/Calls.json`,
        To: ADAS,
        From: OURS,
        Url: expect.stringMatching(/\/twilio\/ring\/[\w-]{22}$/),
        Timeout: '30',
      },
    ]);
    const { carrier } = await pickUp();
    if (!carrier) throw new Error('Nobody was connected.');
    carrier.start();
    await carrier.whenAgentSpeaks();
    await carrier.whenAgentIdle();
    const heardMs = carrier.heard().length / 8;
    // It goes on as any stranger's call does: nobody has shown who they are.
    expect(channel.desk?.callOfChat('ada')).toBeUndefined();
    await channel.send({ chatId: 'ada', content: 'And another one.' });
    await carrier.whenAgentSpeaks();
    carrier.hangup();

    expect(heardMs).toBeGreaterThan(800);
    expect(placed).toHaveLength(1);
    expect((await pickUp()).answer.status).toBe(409);
  });

  it.each([
    ['another number', { to: '+15550143' }, 409],
    ['a machine', { params: { AnsweredBy: 'machine_start' } }, 200],
  ])('is not told to %s', async (_who, more, expected) => {
    await channel.send({ chatId: 'ada', content: 'Your parcel has arrived.' });

    const { answer, carrier } = await pickUp(more);

    expect([answer.status, carrier]).toEqual([expected, null]);
    expect(answer.twiml).not.toContain('parcel');
    expect(channel.desk?.activeCalls).toBe(0);
  });

  it('rings nobody whom the config does not list, and nobody for progress', async () => {
    await channel.send({ chatId: 'bob', content: 'Hello.' });
    await channel.send({ chatId: 'ada', content: 'Searching…', metadata: { _progress: true } });

    expect(placed).toEqual([]);
  });

  it('is not kept when the carrier refuses', async () => {
    status = 400;

    expect(await channel.ring('ada', 'Hello.')).toBe(false);
  });
});

describe('ringing', () => {
  const ask = (clock: FakeClock, place: () => Promise<void>, maxPerHour = 2) =>
    new Rings({
      config: realtimeConfigSchema.parse({
        ring: { people: [{ chatId: 'ada', number: ADAS }], from: OURS, maxPerHour },
      }),
      desk: { admit: () => Promise.reject(new Error('not reached')), call: () => undefined },
      answers: { first: () => ({ twiml: '', token: null }) },
      calls: { place, hangUp: async () => {} },
      capabilities: {} as LegCapabilities,
      address: new PublicAddress('https://voice.example.com'),
      clock,
      logger: silentLogger,
      isDraining: () => false,
    });

  it('is one call for what comes while it rings, up to a bound', async () => {
    let placed = 0;
    const rings = ask(new FakeClock(), async () => void placed++);

    const answers = [];
    for (let index = 0; index <= MAX_RING_TEXTS; index++)
      answers.push(await rings.ring('ada', `message ${index}`));

    expect(placed).toBe(1);
    expect(answers).toEqual([...Array(MAX_RING_TEXTS).fill(true), false]);
  });

  it('is bounded by the hour', async () => {
    let placed = 0;
    const clock = new FakeClock();
    const rings = ask(clock, async () => void placed++);
    const later = async (ms: number) => {
      await clock.advance(ms);
      return rings.ring('ada', 'Hello.');
    };

    const answers = [
      await later(0),
      await later(30_000 + RING_GRACE_MS),
      await later(100_000),
      await later(3_600_000),
    ];

    expect(answers).toEqual([true, true, false, true]);
    expect(placed).toBe(3);
  });

  it('is not done again when nobody knows whether it rings', async () => {
    let placed = 0;
    const clock = new FakeClock();
    const rings = ask(clock, () => {
      placed++;
      return Promise.reject(new VoiceError('CARRIER_FAILED', 'no answer'));
    });

    expect(await rings.ring('ada', 'Hello.')).toBe(false);
    expect(await rings.ring('ada', 'And more.')).toBe(true);
    expect(placed).toBe(1);
  });
});
