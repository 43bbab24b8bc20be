import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { PCM16_8K, PCM16_24K, PCMU_8K } from '../../../src/audio/index.ts';
import { isVoiceError } from '../../../src/errors.ts';
import {
  CLOSE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  createOpenAiModelFactory,
  EXPIRY_NOTICE_MS,
  MAX_BUFFERED_BYTES,
  MAX_HELD_AUDIO_MS,
  MAX_HELD_COMMANDS,
  PING_INTERVAL_MS,
} from '../../../src/model/openai/index.ts';
import { FakeClock, FakeModel } from '../../../src/testing/index.ts';
import { KEY, modelConfig, openFake, openRaw, SESSION } from './support.ts';

const FRAME = Buffer.alloc(160, 0x7f).toString('base64');

describe('opening a session', () => {
  it('is ready in the formats that the server acknowledged, not in those we asked for', async () => {
    const { server, seen, connected } = await openRaw({ acknowledge: false });

    server.acknowledge({ input: { type: 'audio/pcm', rate: 24000 }, output: { type: 'audio/pcma' } });
    await connected;

    expect(seen.of('ready')).toEqual([
      { inputFormat: PCM16_24K, outputFormat: { encoding: 'pcma', sampleRate: 8000 } },
    ]);
  });

  it('takes our formats where a server says nothing about them', async () => {
    const { server, seen, connected } = await openRaw({ acknowledge: false });

    server.acknowledge({ input: null, output: undefined });
    await connected;

    expect(seen.of('ready')).toEqual([{ inputFormat: PCMU_8K, outputFormat: PCMU_8K }]);
  });

  it.each([[{ type: 'audio/opus' }], [{ type: 'audio/pcm', rate: 22050 }], ['g711_ulaw']])(
    'fails loudly on an acknowledged format that we do not speak: %j',
    async (output) => {
      const { server, connected, seen } = await openRaw({ acknowledge: false });

      server.acknowledge({ output });

      await expect(connected).rejects.toMatchObject({ code: 'MODEL_PROTOCOL' });
      expect(seen.of('closed')).toHaveLength(1);
      expect(server.closedWith).toBe(1000);
    },
  );

  it('holds audio until the session is configured, and sends it then in order, before anything newer', async () => {
    const { server, model, seen, connected } = await openRaw({ acknowledge: false });
    model.on('ready', () => model.appendAudio('CCCC'));

    model.appendAudio('AAAA');
    server.sink?.opened();
    model.appendAudio('BBBB');
    expect(server.of('input_audio_buffer.append')).toEqual([]);
    server.acknowledge();
    await connected;

    expect(server.of('input_audio_buffer.append').map(({ audio }) => audio)).toEqual([
      'AAAA',
      'BBBB',
      'CCCC',
    ]);
    expect(seen.names()).toEqual(['ready']);
  });

  it('holds ten seconds of audio and no more, the newest', async () => {
    const { server, model, connected } = await openRaw({ acknowledge: false });
    const frames = MAX_HELD_AUDIO_MS / 20;
    for (let n = 0; n < frames + 250; n += 1) {
      model.appendAudio(Buffer.alloc(160, n % 256).toString('base64'));
    }

    server.acknowledge();
    await connected;

    const sent = server.of('input_audio_buffer.append').map(({ audio }) => audio);
    expect(sent).toHaveLength(frames);
    expect(sent[0]).toBe(Buffer.alloc(160, 250 % 256).toString('base64'));
  });

  it('converts held audio when the server wants another format of the same rate', async () => {
    const { server, model, connected } = await openRaw({ acknowledge: false });
    model.appendAudio(Buffer.alloc(2, 0xff).toString('base64'));

    server.acknowledge({ input: { type: 'audio/pcm', rate: 8000 } });
    await connected;

    expect(server.of('input_audio_buffer.append').map(({ audio }) => audio)).toEqual([
      Buffer.alloc(4, 0).toString('base64'),
    ]);
  });

  it('restores history first, then does what was asked meanwhile, then sends the audio', async () => {
    const { server, model, connected } = await openRaw({
      acknowledge: false,
      session: { history: [{ role: 'assistant', text: 'earlier' }] },
    });
    model.appendAudio(FRAME);
    model.requestResponse({ requestId: 'req_1' });

    server.acknowledge();
    await connected;

    expect(server.sent.map(({ type }) => type)).toEqual([
      'session.update',
      'conversation.item.create',
      'response.create',
      'input_audio_buffer.append',
    ]);
  });

  it('holds a bounded number of commands and refuses the rest', async () => {
    const { model, seen } = await openRaw({ acknowledge: false });

    for (let n = 0; n < MAX_HELD_COMMANDS + 3; n += 1) model.deleteItem(`item_${n}`);

    expect(seen.of('error').map(({ code, severity }) => [code, severity])).toEqual(
      Array(3).fill(['too_many_held_commands', 'benign']),
    );
  });

  it('refuses formats the provider does not take before it connects', async () => {
    const { connected, server } = await openRaw({ acknowledge: false, session: { inputFormat: PCM16_8K } });

    await expect(connected).rejects.toMatchObject({ code: 'AUDIO_FORMAT_UNSUPPORTED' });
    expect(server.request).toBeNull();
  });

  it('connects once', async () => {
    const { model } = await openRaw();

    await expect(model.connect(SESSION)).rejects.toMatchObject({ code: 'MODEL_SESSION_CLOSED' });
  });

  it.each([
    ['does not answer', false],
    ['opens but never configures the session', true],
  ])('gives up on a server that %s', async (_what, opens) => {
    const { server, clock, connected, seen } = await openRaw({ acknowledge: false });
    if (opens) server.sink?.opened();

    await clock.advance(CONNECT_TIMEOUT_MS);

    await expect(connected).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect(server.terminated).toBe(true);
    expect(seen.of('closed')).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [401, 'MODEL_AUTH_FAILED'],
    [403, 'MODEL_AUTH_FAILED'],
    [404, 'MODEL_PROTOCOL'],
    [302, 'MODEL_PROTOCOL'],
    [429, 'MODEL_UNAVAILABLE'],
    [503, 'MODEL_UNAVAILABLE'],
  ])('reads HTTP %i at the handshake as %s', async (status, code) => {
    const { server, connected, clock } = await openRaw({ acknowledge: false });

    server.sink?.refused(status);
    server.sink?.failed(new Error('closed before it was established'));
    server.sink?.closed(1006);

    await expect(connected).rejects.toMatchObject({ code });
    expect(clock.pendingTimers).toBe(0);
  });

  it('reads a refused session.update as a wrong configuration, with what the server called it', async () => {
    const { server, connected } = await openRaw({ acknowledge: false });
    server.sink?.opened();

    server.says({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_value', message: 'voice', event_id: 'client_1' },
    });

    await expect(connected).rejects.toMatchObject({
      code: 'MODEL_PROTOCOL',
      message: expect.stringContaining('invalid_value'),
    });
  });

  it('reads a key refused after the handshake as such', async () => {
    const { server, connected } = await openRaw({ acknowledge: false });
    server.sink?.opened();

    server.says({ type: 'error', error: { type: 'invalid_request_error', code: 'invalid_api_key' } });

    await expect(connected).rejects.toMatchObject({ code: 'MODEL_AUTH_FAILED' });
  });

  it('is refused with a wrong key by a server that wants the right one', async () => {
    const clock = new FakeClock();
    const fake = new FakeModel({ clock, apiKey: 'another-key' });

    await expect(openFake(clock, fake)).rejects.toMatchObject({ code: 'MODEL_AUTH_FAILED' });
    expect(fake.refusedHandshakes).toEqual([401]);
  });
});

describe('the life of a session', () => {
  it('keeps an idle connection alive with pings and nothing else', async () => {
    const { server, clock, seen } = await openRaw();
    const sentBefore = server.sent.length;

    await clock.advance(PING_INTERVAL_MS * 10 + 1);

    expect(server.pings).toBe(10);
    expect(server.sent).toHaveLength(sentBefore);
    expect(seen.of('closed')).toEqual([]);
  });

  it('notices a dead connection within two intervals', async () => {
    const { server, clock, seen } = await openRaw();
    server.answersPings = false;

    await clock.advance(PING_INTERVAL_MS * 2);

    expect(server.terminated).toBe(true);
    expect(seen.of('error')).toMatchObject([{ severity: 'retryable', code: 'no_heartbeat' }]);
    expect(seen.of('closed')).toEqual([{ code: 1006, reason: 'no_heartbeat' }]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('takes any message for a sign of life', async () => {
    const { server, clock, seen } = await openRaw();
    server.answersPings = false;

    for (let n = 0; n < 20; n += 1) {
      await clock.advance(PING_INTERVAL_MS / 2);
      server.says({ type: 'rate_limits.updated', rate_limits: [] });
    }

    expect(seen.of('closed')).toEqual([]);
  });

  it('gives up a connection that takes nothing any more', async () => {
    const { server, model, seen } = await openRaw();

    server.bufferedAmount = MAX_BUFFERED_BYTES;
    model.appendAudio(FRAME);
    expect(seen.of('closed')).toEqual([]);
    server.bufferedAmount = MAX_BUFFERED_BYTES + 1;
    model.appendAudio(FRAME);
    model.appendAudio(FRAME);

    expect(server.terminated).toBe(true);
    expect(seen.of('error')).toMatchObject([{ severity: 'retryable', code: 'backpressure' }]);
    expect(seen.of('closed')).toEqual([{ code: 1006, reason: 'backpressure' }]);
  });

  it.each([
    [1000, 'closed_by_provider', 'retryable'],
    [1001, 'session_expired', 'retryable'],
    [1006, 'connection_lost', 'retryable'],
    [1011, 'connection_lost', 'retryable'],
    [1008, 'policy_violation', 'fatal'],
    [1009, 'message_too_big', 'fatal'],
    [3000, 'unauthorized', 'fatal'],
    [4000, 'beta_api_shape_disabled', 'fatal'],
    [4999, 'connection_lost', 'retryable'],
  ])('reads close code %i as %s, %s', async (code, reason, severity) => {
    const { server, seen, clock } = await openRaw();
    seen.events.length = 0;

    server.sink?.closed(code);
    server.sink?.closed(code);

    expect(seen.events).toMatchObject([
      ['error', { severity, code: reason }],
      ['closed', { code, reason }],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('warns in time before the session ends', async () => {
    const { clock, seen } = await openRaw();

    await clock.advance(3_600_000 - EXPIRY_NOTICE_MS - 1);
    expect(seen.of('expiring')).toEqual([]);
    await clock.advance(1);
    expect(seen.of('expiring')).toEqual([{ inMs: EXPIRY_NOTICE_MS }]);
  });

  it('believes a plausible stamp of the server about its end', async () => {
    const clock = new FakeClock();
    const fake = new FakeModel({ clock, maxSessionMs: 1_800_000 });
    const { seen } = await openFake(clock, fake);

    await clock.advance(1_800_000 - EXPIRY_NOTICE_MS - 1000);
    expect(seen.of('expiring')).toEqual([]);
    await clock.advance(1000);

    expect(seen.of('expiring')).toHaveLength(1);
  });

  it('ends when told, at once and once, and hears nothing afterwards', async () => {
    const { server, model, seen, clock } = await openRaw();
    seen.events.length = 0;

    model.close();
    model.close();
    server.says({ type: 'input_audio_buffer.speech_started', item_id: 'item_u' });
    model.appendAudio(FRAME);
    model.requestResponse({ requestId: 'req_1' });
    model.truncate('item_1', 5);
    model.cancelResponse();
    server.sink?.closed(1000);

    expect(seen.events).toEqual([['closed', { code: 1000, reason: 'closed_locally' }]]);
    expect(server.sent.map(({ type }) => type)).toEqual(['session.update']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('drops a connection whose server does not answer the close', async () => {
    const { server, model, clock } = await openRaw();

    model.close();
    expect(server.terminated).toBe(false);
    await clock.advance(CLOSE_TIMEOUT_MS);

    expect(server.terminated).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('rejects a connect that is closed under way', async () => {
    const { server, model, connected, clock, seen } = await openRaw({ acknowledge: false });

    model.close();

    await expect(connected).rejects.toMatchObject({ code: 'MODEL_SESSION_CLOSED' });
    expect(server.terminated).toBe(true);
    expect(seen.of('closed')).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves no timer behind after a whole call with a real dialogue', async () => {
    const clock = new FakeClock();
    const fake = new FakeModel({ clock });
    const { model } = await openFake(clock, fake);
    model.requestResponse({ requestId: 'req_1' });
    await clock.advance(5000);

    model.close();
    await clock.advance(1);

    expect(clock.pendingTimers).toBe(0);
    expect(fake.session.isOpen).toBe(false);
    expect(fake.violations).toEqual([]);
  });
});

describe('secrets', () => {
  it('are in no log line, no error and no description, whatever the server quotes', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
    const { server, seen, factory, model } = await openRaw({ options: { logger } });
    model.on('responseStarted', () => {
      throw new Error('a listener of ours');
    });

    server.says({
      type: 'error',
      error: { type: 'invalid_request_error', code: `bad key ${KEY}`, message: `Incorrect key: ${KEY}` },
    });
    server.says({
      type: 'error',
      error: { code: 'sk_live_abc', type: KEY, message: 'he said my PIN is 4711' },
    });
    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    server.sink?.message(`{"type":"error","error":"${KEY}"}`);
    server.sink?.closed(1008);

    const everything = JSON.stringify([lines, seen.events, factory.description]);
    expect(everything).not.toContain(KEY);
    expect(everything).not.toContain('4711');
    expect(everything).not.toContain('sk_live');
    expect(seen.of('error').map(({ code }) => code)).toContain('unknown_error');
    expect(lines.length).toBeGreaterThan(0);
  });

  it('are not in what a failed connect throws', async () => {
    const { server, connected } = await openRaw({ acknowledge: false });

    server.sink?.failed(new Error('connect ECONNREFUSED 127.0.0.1:1'));

    const error: unknown = await connected.catch((thrown: unknown) => thrown);
    expect(isVoiceError(error, 'MODEL_UNAVAILABLE')).toBe(true);
    expect(String((error as Error).stack)).not.toContain(KEY);
  });

  it('may not be put into the address', () => {
    const make = () =>
      createOpenAiModelFactory({
        config: modelConfig({ provider: 'openai-compatible', baseUrl: `wss://user:${KEY}@host/v1` }),
        apiKey: undefined,
      });

    expect(make).toThrow('model.apiKey');
    try {
      make();
    } catch (error) {
      expect(String(error)).not.toContain(KEY);
    }
  });
});

describe('configuration', () => {
  const factoryOf = (config: Parameters<typeof modelConfig>[0], apiKey: string | undefined = KEY) =>
    createOpenAiModelFactory({ config: modelConfig(config), apiKey });

  it('tells in plain words what it is connected to', () => {
    expect(factoryOf({}).description).toBe('gpt-realtime-2.1 of OpenAI at api.openai.com');
    expect(
      factoryOf({ provider: 'openai-compatible', baseUrl: 'ws://127.0.0.1:9000', model: 'm' }, '')
        .description,
    ).toBe('m of an OpenAI-compatible server at 127.0.0.1:9000');
  });

  it.each([
    ['ws://127.0.0.1:9000', 'ws://127.0.0.1:9000/v1/realtime?model=m'],
    ['http://host/v1', 'ws://host/v1/realtime?model=m'],
    ['https://host/v1/realtime', 'wss://host/v1/realtime?model=m'],
    ['wss://host/api/realtime?x=1&model=other#part', 'wss://host/api/realtime?x=1&model=other'],
  ])('reads the address %s as %s', async (baseUrl, url) => {
    const { server } = await openRaw({
      acknowledge: false,
      config: { provider: 'openai-compatible', baseUrl, model: 'm' },
    });

    expect(server.request?.url).toBe(url);
  });

  it.each([
    ['no key', {}, undefined, 'model.apiKey'],
    ['no address for Azure', { provider: 'azure' }, KEY, 'model.baseUrl'],
    ['no address for a self-hosted server', { provider: 'openai-compatible' }, KEY, 'model.baseUrl'],
    ['another scheme', { baseUrl: 'ftp://host' }, KEY, 'model.baseUrl'],
    ['no address at all', { baseUrl: 'host' }, KEY, 'model.baseUrl'],
    ['the offline model', { provider: 'command' }, KEY, 'model.provider'],
    [
      'a turn detection that xAI does not have',
      { provider: 'xai', turnDetection: { type: 'semantic_vad' } },
      KEY,
      'model.turnDetection.type',
    ],
  ] as const)('refuses %s', (_what, config, apiKey, path) => {
    const make = () => createOpenAiModelFactory({ config: modelConfig(config), apiKey });

    expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(make).toThrow(path);
  });
});
