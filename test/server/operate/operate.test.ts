import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/clock-virtual.ts';
import { type CallRecord, silentLogger } from '../../../src/observe/index.ts';
import { CallRecords } from '../../../src/server/index.ts';
import { latencyFigures, MAX_KEPT_RECORD_BYTES } from '../../../src/server/operate/index.ts';
import { closePageRigs, errorOf, pageRig, until } from '../page/rig.ts';

const folders: string[] = [];
afterEach(async () => {
  await closePageRigs();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const idOf = (n: number) => n.toString(16).padStart(32, '0');

function record(n: number, startedAt: number, more: Partial<CallRecord> = {}): CallRecord {
  return {
    version: 1,
    id: idOf(n),
    carrier: 'webrtc',
    provider: 'fake',
    identityStrength: 'none',
    startedAt: new Date(startedAt).toISOString(),
    durationMs: 1000,
    endReason: 'caller_hangup',
    clock: 'real',
    events: [],
    eventsLeftOut: 0,
    latencies: [{ turn: 1, speechEndMs: 0, agentStartMs: 500, latencyMs: 500 + n, toolMs: 100 }],
    usage: {
      responses: 0,
      inputTokens: 0,
      inputAudioTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      outputAudioTokens: 0,
      seconds: 0,
      callerSpeechMs: 0,
      agentSpeechMs: 0,
      turns: [],
    },
    counters: {},
    ...more,
  };
}

function keeper(config: { enabled?: boolean; keepDays?: number; max?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'records-'));
  folders.push(folder);
  const clock = new VirtualClock();
  const open = () =>
    new CallRecords({
      directory: join(folder, 'calls'),
      config: { enabled: true, keepDays: 30, max: 1000, ...config },
      clock,
      logger: silentLogger,
    });
  return { folder: join(folder, 'calls'), clock, open };
}

describe('the records of calls', () => {
  it('are kept for their owner only, over a restart, and forgotten one by one', async () => {
    const { folder, clock, open } = keeper();
    const records = open();
    await records.keep(record(1, clock.wallNow()));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, `${idOf(1)}.json`)).mode & 0o777).toBe(0o600);
    writeFileSync(join(folder, `${idOf(9)}.json.abcd`), 'half');

    const again = open();
    await again.open();

    expect(await again.get(idOf(1))).toEqual(record(1, clock.wallNow()));
    expect(readdirSync(folder)).toEqual([`${idOf(1)}.json`]);
    expect(await again.get(idOf(2))).toBeNull();
    expect(await again.remove(idOf(1))).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
    expect(await again.get('../../etc/passwd')).toBeNull();
  });

  it('are so many, so old and so large at most', async () => {
    const { folder, clock, open } = keeper({ max: 2, keepDays: 1 });
    const records = open();
    for (let n = 1; n <= 3; n++) await records.keep(record(n, clock.wallNow()));
    expect(readdirSync(folder).sort()).toEqual([`${idOf(2)}.json`, `${idOf(3)}.json`]);
    await clock.advance(86_400_001);
    const text = 'x'.repeat(100_000);
    const events = Array.from({ length: 50 }, (_, n) => {
      return { type: 'caller_speech', atMs: n, endMs: n, text, turn: n } as const;
    });

    await records.keep(record(4, clock.wallNow(), { events }));

    expect(readdirSync(folder)).toEqual([`${idOf(4)}.json`]);
    expect(statSync(join(folder, `${idOf(4)}.json`)).size).toBeLessThan(MAX_KEPT_RECORD_BYTES);
    expect(await records.get(idOf(4))).toMatchObject({ eventsLeftOut: 38 });
  });

  it('are not kept where that is turned off, and a full disk ends nothing', async () => {
    const off = keeper({ enabled: false });
    await off.open().keep(record(1, 0));
    expect(() => readdirSync(off.folder)).toThrow();
    const { folder, open } = keeper();
    writeFileSync(folder, 'a file where the folder should be');
    const records = open();
    await records.keep(record(1, 0));
    expect(records.size).toBe(0);
  });
});

describe('latencies', () => {
  it('are percentiles that were measured, of so many turns, with and without tools', () => {
    const turns = Array.from({ length: 100 }, (_, n) => [n + 1, 10] as const);
    const calls = [{ id: 'a', carrier: 'x', startedAt: 0, turns }];
    expect(latencyFigures(calls)).toEqual({
      n: 100,
      p50: 50,
      p90: 90,
      p99: 99,
      own: { p50: 40, p90: 80, p99: 89 },
      calls: 1,
    });
    expect(latencyFigures([])).toMatchObject({ n: 0, p50: null, own: { p99: null }, calls: 0 });
  });
});

describe('the operator’s interface', () => {
  it('shows calls, their turns and their records, and no one’s number', async () => {
    const rig = await pageRig({ peers: false });
    const bearer = { authorization: `Bearer ${rig.token}` };
    const page = await rig.call(await rig.guest());
    const { callId } = await page.next('welcome');
    await page.greeted();
    const live = await (await rig.get('/operator/api/calls?live=1', bearer)).json();
    expect(live).toMatchObject({ calls: [{ id: callId, endedAt: null, identity: 'none', hasAudio: false }] });
    page.say({ type: 'text', text: 'hello there' });
    await page.next('transcript', ({ text, final }) => text === 'Okay.' && final);

    expect((await rig.post(`/operator/api/calls/${callId}/hangup`, {}, bearer)).status).toBe(202);

    await page.closed;
    await until('the record is kept', () => rig.records.has(callId));
    const detail = (await (await rig.get(`/operator/api/calls/${callId}`, bearer)).json()) as object;
    expect(detail).toMatchObject({
      call: { id: callId, endReason: 'agent_hangup', hasRecord: true },
      record: { id: callId, version: 1 },
      audio: false,
    });
    expect(JSON.stringify(detail)).toContain('hello there');
    expect(await (await rig.get('/operator/api/latency?hours=1', bearer)).json()).toMatchObject({
      turns: { calls: 1 },
      byCarrier: { webrtc: { calls: 1 } },
    });
    const forget = { method: 'DELETE', headers: bearer };
    expect((await fetch(`${rig.url}/operator/api/calls/${callId}/record`, forget)).status).toBe(204);
    expect(await (await rig.get(`/operator/api/calls/${callId}`, bearer)).json()).toMatchObject({
      record: null,
    });
    expect((await rig.post(`/operator/api/calls/${callId}/hangup`, {}, bearer)).status).toBe(404);
  });

  it('pages through calls, newest first', async () => {
    const rig = await pageRig({ peers: false });
    const bearer = { authorization: `Bearer ${rig.token}` };
    for (let n = 1; n <= 5; n++)
      await rig.store.beginCall({
        id: idOf(n),
        sessionKey: `realtime:+1555010${n}`,
        carrier: 'twilio',
        provider: 'fake',
        identityStrength: 'claimed',
        startedAt: n * 1000,
      });
    const first = await (await rig.get('/operator/api/calls?limit=3', bearer)).text();
    expect(first).not.toContain('1555010');
    const { calls, next } = JSON.parse(first) as { calls: { id: string }[]; next: number };
    expect(calls.map(({ id }) => id)).toEqual([5, 4, 3].map(idOf));
    const rest = await (await rig.get(`/operator/api/calls?limit=3&before=${next}`, bearer)).json();
    expect(rest).toMatchObject({ calls: [{ id: idOf(2) }, { id: idOf(1) }], next: null });
    expect((await rig.get('/operator/api/calls?limit=x', bearer)).status).toBe(400);
  });

  it('says what is configured and healthy, and tells a guest or a stranger nothing', async () => {
    const rig = await pageRig({ peers: false });
    const owner = await rig.owner();

    const status = await (await rig.get('/operator/api/status', owner)).json();

    expect(status).toMatchObject({
      ready: true,
      draining: false,
      version: '1.2.3',
      calls: { live: 0, pending: 0, max: 100, page: 0 },
      configured: [{ name: 'model', state: 'ok' }],
    });
    const guest = await rig.guest();
    for (const path of ['session', 'status', 'calls', `calls/${idOf(1)}`, 'latency', 'deliveries'])
      for (const headers of [{}, guest])
        expect(await errorOf(await rig.get(`/operator/api/${path}`, headers))).toEqual({
          status: 401,
          code: 'OPERATOR_AUTH_REQUIRED',
        });
    const { origin: _, ...noOrigin } = owner;
    const hangup = await rig.post(`/operator/api/calls/${idOf(1)}/hangup`, {}, noOrigin);
    expect(hangup.status).toBe(403);
  });

  it('shows deliveries, sends one again, gives one up', async () => {
    const rig = await pageRig({ peers: false, media: true });
    const owner = await rig.owner();
    const page = await rig.call(owner);
    await page.greeted();
    page.say({ type: 'text', text: 'use send_test_image' });
    const picture = await page.next('media');
    const list = async () =>
      ((await (await rig.get('/operator/api/deliveries', owner)).json()) as { deliveries: object[] })
        .deliveries;
    expect(await list()).toMatchObject([{ id: picture.id, state: 'sending', kind: 'image', route: 'page' }]);
    page.say({ type: 'media.receipt', id: picture.id });
    await until('it is sent', async () => (await rig.store.getOutbox(picture.id))?.status === 'sent');

    const again = await rig.post(`/operator/api/deliveries/${picture.id}/retry`, {}, owner);

    expect(await errorOf(again)).toEqual({ status: 409, code: 'STORE_CONFLICT' });
    expect(await list()).toMatchObject([{ state: 'sent', canRetry: false, canDrop: false }]);
    expect((await rig.post('/operator/api/deliveries/x/drop', {}, owner)).status).toBe(404);
  });
});
