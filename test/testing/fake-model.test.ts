import { describe, expect, it } from 'vitest';
import { fromSamples, loadAudio, PCM16_24K, PCMU_8K } from '../../src/audio/index.ts';
import type { ModelSocketSink } from '../../src/model/openai/index.ts';
import {
  call,
  FakeClock,
  FakeModel,
  type FakeModelOptions,
  raw,
  say,
  stall,
  tone,
} from '../../src/testing/index.ts';

type Json = Record<string, unknown>;

/** A client that sends whatever it is told to. */
async function connect(options: FakeModelOptions & { headers?: Record<string, string>; url?: string } = {}) {
  const clock = new FakeClock();
  const fake = new FakeModel({ clock, ...options });
  const heard: Json[] = [];
  const closes: number[] = [];
  const refusals: number[] = [];
  const sink: ModelSocketSink = {
    opened: () => {},
    refused: (status) => refusals.push(status),
    failed: () => {},
    message: (data) => heard.push(JSON.parse(String(data))),
    alive: () => {},
    closed: (code) => closes.push(code),
  };
  const url = options.url ?? 'ws://fake/v1/realtime?model=gpt-realtime-2.1';
  const socket = fake.openSocket({ url, headers: options.headers ?? {} }, sink);
  await clock.settle();
  const send = async (event: unknown) => {
    socket.send(typeof event === 'string' ? event : JSON.stringify(event));
    await clock.settle();
  };
  const types = () => heard.map(({ type }) => type);
  const of = (type: string) => heard.filter((event) => event.type === type);
  const lastError = () => of('error').at(-1)?.error as Json | undefined;
  return { clock, fake, socket, send, heard, types, of, lastError, closes, refusals };
}

const PCMU_SESSION = {
  type: 'session.update',
  session: {
    type: 'realtime',
    audio: { input: { format: { type: 'audio/pcmu' } }, output: { format: { type: 'audio/pcmu' } } },
  },
};

const append = (ms: number, loud: boolean) => ({
  type: 'input_audio_buffer.append',
  audio: Buffer.from(
    loud ? fromSamples(tone(ms, 300, 8000).samples, PCMU_8K) : new Uint8Array(ms * 8).fill(255),
  ).toString('base64'),
});

describe('FakeModel at the door', () => {
  it('says session.created first, with the whole default configuration', async () => {
    const { heard } = await connect();

    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatchObject({
      type: 'session.created',
      session: {
        object: 'realtime.session',
        type: 'realtime',
        model: 'gpt-realtime-2.1',
        output_modalities: ['audio'],
        audio: {
          input: { format: { type: 'audio/pcm', rate: 24000 }, turn_detection: { type: 'server_vad' } },
          output: { format: { type: 'audio/pcm', rate: 24000 }, voice: 'alloy' },
        },
      },
    });
  });

  it('turns the beta dialect away: the error, then close code 4000, and no session', async () => {
    const { heard, closes, fake } = await connect({ headers: { 'OpenAI-Beta': 'realtime=v1' } });

    expect(heard).toMatchObject([{ type: 'error', error: { code: 'beta_api_shape_disabled' } }]);
    expect(closes).toEqual([4000]);
    expect(fake.sessions).toEqual([]);
  });

  it('wants a model', async () => {
    const { heard, closes } = await connect({ url: 'ws://fake/v1/realtime' });

    expect(heard).toMatchObject([{ type: 'error', error: { code: 'missing_model' } }]);
    expect(closes).toEqual([4000]);
  });

  it('wants the key, in either header', async () => {
    const bearer = await connect({ apiKey: 'k', headers: { Authorization: 'Bearer k' } });
    const azure = await connect({ apiKey: 'k', headers: { 'api-key': 'k' } });
    const none = await connect({ apiKey: 'k' });

    expect([bearer, azure, none].map(({ refusals }) => refusals)).toEqual([[], [], [401]]);
    expect(none.fake.refusedHandshakes).toEqual([401]);
  });

  it('ends a session at its maximum', async () => {
    const { clock, of, closes } = await connect({ maxSessionMs: 60_000 });

    await clock.advance(60_000);

    expect(of('error')).toMatchObject([{ error: { code: 'session_expired' } }]);
    expect(closes).toEqual([1001]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('FakeModel refuses', () => {
  it.each<[string, unknown, Json]>([
    ['text that is not JSON', '{', { code: 'invalid_json' }],
    ['a message without a type', {}, { code: 'missing_required_parameter', param: 'type' }],
    ['an unknown message', { type: 'session.start' }, { code: 'invalid_value', param: 'type' }],
    [
      'the beta shape of a session',
      { type: 'session.update', session: { type: 'realtime', voice: 'alloy' } },
      {
        code: 'unknown_parameter',
        param: 'session.voice',
        message: "Unknown parameter: 'session.voice'.",
      },
    ],
    [
      'a beta audio format',
      { type: 'session.update', session: { type: 'realtime', input_audio_format: 'g711_ulaw' } },
      { code: 'unknown_parameter', param: 'session.input_audio_format' },
    ],
    [
      'a session without its type',
      { type: 'session.update', session: { instructions: 'x' } },
      {
        code: 'missing_required_parameter',
        param: 'session.type',
        message: "Missing required parameter: 'session.type'.",
      },
    ],
    [
      'temperature, which GA does not have',
      { type: 'session.update', session: { type: 'realtime', temperature: 0.8 } },
      { code: 'unknown_parameter', param: 'session.temperature' },
    ],
    [
      'both modalities at once',
      { type: 'session.update', session: { type: 'realtime', output_modalities: ['audio', 'text'] } },
      { code: 'invalid_value', param: 'session.output_modalities' },
    ],
    [
      'PCM at another rate than 24 kHz',
      {
        type: 'session.update',
        session: { type: 'realtime', audio: { input: { format: { type: 'audio/pcm', rate: 16000 } } } },
      },
      { code: 'invalid_value', param: 'session.audio.input.format.rate' },
    ],
    [
      'a tool in the nested form of chat completions',
      {
        type: 'session.update',
        session: { type: 'realtime', tools: [{ type: 'function', function: { name: 'x' } }] },
      },
      { code: 'missing_required_parameter', param: 'session.tools[0].name' },
    ],
    [
      'another model',
      { type: 'session.update', session: { type: 'realtime', model: 'gpt-realtime-mini' } },
      { code: 'cannot_update_model' },
    ],
    [
      'another type of session',
      { type: 'session.update', session: { type: 'transcription' } },
      { code: 'invalid_value', param: 'session.type' },
    ],
    [
      'audio that is not base64',
      { type: 'input_audio_buffer.append', audio: '@@@' },
      { code: 'invalid_value', param: 'audio' },
    ],
    [
      'audio that is no text',
      { type: 'input_audio_buffer.append', audio: 7 },
      { code: 'invalid_type', param: 'audio' },
    ],
    [
      'a commit of less than 100 ms',
      { type: 'input_audio_buffer.commit' },
      { code: 'input_audio_buffer_commit_empty', message: expect.stringContaining('0.00ms') },
    ],
    [
      'the output of a call that nobody made',
      {
        type: 'conversation.item.create',
        item: { type: 'function_call_output', call_id: 'call_x', output: '' },
      },
      { code: 'invalid_tool_call_id', message: "Tool call ID 'call_x' not found in conversation." },
    ],
    [
      'a call id with other characters',
      {
        type: 'conversation.item.create',
        item: { type: 'function_call_output', call_id: 'a/b', output: '' },
      },
      { code: 'invalid_value', param: 'item.call_id' },
    ],
    [
      'assistant audio put into the conversation',
      {
        type: 'conversation.item.create',
        item: { type: 'message', role: 'assistant', content: [{ type: 'output_audio', transcript: 'x' }] },
      },
      { code: 'missing_required_parameter', param: 'item.content[0].text' },
    ],
    [
      'an item behind one that is not there',
      {
        type: 'conversation.item.create',
        previous_item_id: 'item_x',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      },
      { code: 'item_create_invalid_previous_item_id' },
    ],
    [
      'the deletion of an item that is not there',
      { type: 'conversation.item.delete', item_id: 'item_x' },
      { code: 'item_delete_invalid_item_id' },
    ],
    [
      'to truncate an item that is not there',
      { type: 'conversation.item.truncate', item_id: 'item_x', content_index: 0, audio_end_ms: 0 },
      { code: 'item_truncate_invalid_item_id' },
    ],
    [
      'to truncate at a fraction',
      { type: 'conversation.item.truncate', item_id: 'item_x', content_index: 0, audio_end_ms: 12.5 },
      {
        code: 'invalid_type',
        param: 'audio_end_ms',
        message: "Invalid type for 'audio_end_ms': expected an integer, but got a decimal number instead.",
      },
    ],
    [
      'to truncate at null, which is what NaN becomes',
      { type: 'conversation.item.truncate', item_id: 'item_x', content_index: 0, audio_end_ms: null },
      { code: 'invalid_type', message: expect.stringContaining('got null') },
    ],
    ['to cancel when nothing runs', { type: 'response.cancel' }, { code: 'response_cancel_not_active' }],
    [
      'an unknown field of a response',
      { type: 'response.create', response: { modalities: ['text'] } },
      { code: 'unknown_parameter', param: 'response.modalities' },
    ],
    [
      'to flush playback, which is for WebRTC',
      { type: 'output_audio_buffer.clear' },
      { code: 'invalid_event_for_transport' },
    ],
  ])('%s', async (_what, event, error) => {
    const { send, lastError, fake, closes } = await connect();

    await send(typeof event === 'string' ? event : { event_id: 'mine', ...(event as Json) });

    expect(lastError()).toMatchObject({ type: 'invalid_request_error', ...error });
    expect(lastError()?.event_id).toBe(typeof event === 'string' ? null : 'mine');
    expect(fake.violations).toHaveLength(1);
    expect(closes).toEqual([]);
  });

  it('a binary frame', async () => {
    const { fake, lastError } = await connect();

    fake.session.receive(new Uint8Array([1]));

    expect(fake.violations).toMatchObject([{ code: 'invalid_binary' }]);
    expect(lastError()).toBeUndefined();
  });

  it('another voice once it has spoken, but the same one again is fine', async () => {
    const { clock, send, lastError } = await connect();
    const voice = (name: string) => ({
      type: 'session.update',
      session: { type: 'realtime', audio: { output: { voice: name } } },
    });

    await send(voice('marin'));
    expect(lastError()).toBeUndefined();
    await send({ type: 'response.create' });
    await clock.advance(3000);
    await send(voice('marin'));
    expect(lastError()).toBeUndefined();
    await send(voice('cedar'));

    expect(lastError()).toMatchObject({ code: 'cannot_update_voice' });
  });

  it('a second response beside the active one, which goes on undisturbed', async () => {
    const { clock, send, of, lastError } = await connect();

    await send({ type: 'response.create', event_id: 'first' });
    await send({ type: 'response.create', event_id: 'second' });
    await clock.advance(3000);

    expect(lastError()).toMatchObject({
      code: 'conversation_already_has_active_response',
      event_id: 'second',
    });
    expect(of('response.created')).toHaveLength(1);
    expect(of('response.done')).toMatchObject([{ response: { status: 'completed' } }]);
  });

  it('to truncate beyond the audio it sent, and beyond where it was truncated before', async () => {
    const { clock, fake, send, of, lastError } = await connect();
    fake.onTurn(() => [say('x', { durationMs: 3700 })]);
    await send(PCMU_SESSION);
    await send({ type: 'response.create' });
    await clock.advance(5000);
    const item_id = (of('response.output_audio.delta')[0] as { item_id: string }).item_id;
    const truncate = (audio_end_ms: number) =>
      send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms });

    await truncate(3760);
    expect(lastError()?.message).toBe('Audio content of 3700ms is already shorter than 3760ms');
    await truncate(1000);
    expect(of('conversation.item.truncated')).toMatchObject([{ item_id, audio_end_ms: 1000 }]);
    expect(fake.session.items.at(-1)?.content).toEqual([{ type: 'output_audio', transcript: null }]);
    await truncate(1001);

    expect(lastError()).toMatchObject({ code: 'invalid_value' });
  });

  it('to truncate what is not its own speech', async () => {
    const { fake, send, lastError } = await connect();
    await send({
      type: 'conversation.item.create',
      item: { id: 'mine', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
    });

    await send({ type: 'conversation.item.truncate', item_id: 'mine', content_index: 0, audio_end_ms: 0 });

    expect(lastError()).toMatchObject({ code: 'unsupported_content_type' });
    expect(fake.session.items).toHaveLength(1);
  });

  it('a second output for one call', async () => {
    const { clock, fake, send, lastError } = await connect();
    fake.onTurn(() => [call('read_file', {}, 'call_mine')]);
    await send({ type: 'response.create' });
    await clock.advance(1000);
    const output = {
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'call_mine', output: 'x' },
    };

    await send(output);
    expect(lastError()).toBeUndefined();
    await send(output);

    expect(lastError()).toMatchObject({ code: 'invalid_tool_call_id' });
  });
});

describe('FakeModel in conversation', () => {
  it('sends the events of a spoken response in the order of the real server', async () => {
    const { clock, fake, send, types, of } = await connect();
    fake.onTurn(() => [say('It is ten.', { durationMs: 400 })]);
    await send(PCMU_SESSION);
    await send({ type: 'response.create', response: { metadata: { request_id: 'r' } } });
    await clock.advance(2000);

    expect(types().slice(2)).toEqual([
      'response.created',
      'rate_limits.updated',
      'response.output_item.added',
      'conversation.item.added',
      'response.content_part.added',
      'response.output_audio_transcript.delta',
      'response.output_audio.delta',
      'response.output_audio_transcript.delta',
      'response.output_audio.delta',
      'response.output_audio.done',
      'response.output_audio_transcript.done',
      'response.content_part.done',
      'response.output_item.done',
      'conversation.item.done',
      'response.done',
    ]);
    expect(of('response.done')).toMatchObject([
      {
        response: {
          status: 'completed',
          metadata: { request_id: 'r' },
          output: [{ type: 'message', content: [{ type: 'output_audio', transcript: 'It is ten.' }] }],
          usage: { output_token_details: { audio_tokens: 8 } },
        },
      },
    ]);
    const bytes = of('response.output_audio.delta').map(
      ({ delta }) => Buffer.from(String(delta), 'base64').length,
    );
    expect(bytes).toEqual([1600, 1600]);
  });

  it('generates faster than it would speak, at the speed it is told', async () => {
    const { clock, fake, send, of } = await connect({ timing: { firstOutputMs: 100, speed: 10 } });
    fake.onTurn(() => [say('x', { durationMs: 10_000 })]);
    await send({ type: 'response.create' });

    await clock.advance(600);
    expect(of('response.done')).toEqual([]);
    await clock.advance(500);

    expect(of('response.done')).toHaveLength(1);
  });

  it('hears speech, commits the turn, answers by itself and transcribes later', async () => {
    const { clock, fake, send, types, of } = await connect();
    fake.willHear('what time is it').onTurn(({ heard, trigger }) => [say(`${trigger}: ${heard}`)]);
    await send({
      ...PCMU_SESSION,
      session: {
        ...PCMU_SESSION.session,
        audio: {
          ...PCMU_SESSION.session.audio,
          input: { format: { type: 'audio/pcmu' }, transcription: { model: 'gpt-4o-mini-transcribe' } },
        },
      },
    });

    await send(append(400, false));
    await send(append(800, true));
    await send(append(600, false));
    await clock.advance(4000);

    expect(of('input_audio_buffer.speech_started')).toMatchObject([{ audio_start_ms: 100 }]);
    expect(of('input_audio_buffer.speech_stopped')).toMatchObject([{ audio_end_ms: 1700 }]);
    expect(types().filter((type) => String(type).startsWith('input_audio_buffer'))).toEqual([
      'input_audio_buffer.speech_started',
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
    ]);
    expect(of('conversation.item.input_audio_transcription.completed')).toMatchObject([
      { transcript: 'what time is it' },
    ]);
    expect(of('response.output_audio_transcript.done')).toMatchObject([
      { transcript: 'speech: what time is it' },
    ]);
  });

  it('stops generating when the caller speaks, as of turn_detected, and leaves the flushing to us', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(() => [say('x', { durationMs: 20_000 })]);
    await send(PCMU_SESSION);
    await send({ type: 'response.create' });
    await clock.advance(1000);
    const before = of('response.output_audio.delta').length;

    await send(append(200, true));
    await clock.advance(1000);

    expect(of('response.output_audio.delta')).toHaveLength(before);
    expect(of('response.done')).toMatchObject([
      {
        response: {
          status: 'cancelled',
          status_details: { type: 'cancelled', reason: 'turn_detected' },
          output: [{ status: 'incomplete' }],
        },
      },
    ]);
    expect(of('response.output_audio.done')).toHaveLength(1);
    expect(of('conversation.item.truncated')).toEqual([]);
  });

  it('talks on over the caller when told not to be interrupted, and gives that turn no answer', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(() => [say('x', { durationMs: 20_000 })]);
    const session = {
      type: 'realtime',
      audio: {
        input: {
          format: { type: 'audio/pcmu' },
          turn_detection: { type: 'server_vad', interrupt_response: false },
        },
      },
    };
    await send({ type: 'session.update', session });
    await send({ type: 'response.create' });
    await clock.advance(1000);

    await send(append(400, true));
    await send(append(600, false));
    await clock.advance(20_000);

    expect(of('input_audio_buffer.committed')).toHaveLength(1);
    expect(of('response.created')).toHaveLength(1);
    expect(of('response.done')).toMatchObject([{ response: { status: 'completed' } }]);
  });

  it('cancels for the client, and a call cut in half stays incomplete', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(() => [call('read_file', { path: 'x'.repeat(400) })]);
    await send({ type: 'response.create' });
    await clock.advance(160);
    expect(of('response.function_call_arguments.delta').length).toBeGreaterThan(0);

    await send({ type: 'response.cancel' });

    expect(of('response.function_call_arguments.done')).toEqual([]);
    expect(of('response.output_item.done')).toMatchObject([{ item: { status: 'incomplete' } }]);
    expect(of('response.done')).toMatchObject([
      { response: { status: 'cancelled', status_details: { reason: 'client_cancelled' } } },
    ]);
    expect(clock.pendingTimers).toBe(1);
  });

  it('never uses a call id twice, even when the client made it up first', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(() => [call('a'), call('b'), call('c')]);

    await send({ type: 'response.create' });
    await clock.advance(1000);
    await send({ type: 'response.create' });
    await clock.advance(1000);

    const ids = of('response.function_call_arguments.done').map(({ call_id }) => call_id);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });

  it('insists on the formats it was told to insist on', async () => {
    const { send, of, fake } = await connect({ forceFormats: { output: PCM16_24K } });

    await send(PCMU_SESSION);

    expect(of('session.updated')).toMatchObject([
      {
        session: {
          audio: {
            input: { format: { type: 'audio/pcmu' } },
            output: { format: { type: 'audio/pcm', rate: 24000 } },
          },
        },
      },
    ]);
    expect(fake.session.outputFormat).toEqual(PCM16_24K);
  });

  it('runs an out-of-band response beside the main one and keeps it out of the conversation', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(({ request }) =>
      request?.conversation === 'none'
        ? [say('aside', { durationMs: 200 })]
        : [say('main', { durationMs: 2000 })],
    );

    await send({ type: 'response.create' });
    await send({ type: 'response.create', response: { conversation: 'none', output_modalities: ['text'] } });
    await clock.advance(3000);

    expect(of('response.done')).toHaveLength(2);
    expect(fake.session.items).toHaveLength(1);
    expect(of('response.output_text.done')).toMatchObject([{ text: 'aside' }]);
    expect(fake.violations).toEqual([]);
  });

  it('takes a turn by hand when voice detection is off', async () => {
    const { clock, send, of, types } = await connect();
    await send({
      type: 'session.update',
      session: {
        type: 'realtime',
        audio: { input: { format: { type: 'audio/pcmu' }, turn_detection: null } },
      },
    });

    await send(append(800, true));
    await send({ type: 'input_audio_buffer.commit' });
    await clock.advance(1000);
    expect(of('response.created')).toEqual([]);
    expect(types()).not.toContain('input_audio_buffer.speech_started');
    await send({ type: 'response.create' });
    await clock.advance(3000);

    expect(of('response.done')).toHaveLength(1);
  });

  it('waits for a script that takes its time, and cancels it before it has spoken', async () => {
    const { clock, fake, send, of } = await connect();
    let answer: (actions: ReturnType<typeof say>[]) => void = () => {};
    fake.onTurn(() => new Promise((resolve) => (answer = resolve)));
    await send({ type: 'response.create' });

    await send({ type: 'response.cancel' });
    answer([say('too late')]);
    await clock.advance(2000);

    expect(of('response.done')).toMatchObject([{ response: { status: 'cancelled', output: [] } }]);
    expect(of('response.output_audio.delta')).toEqual([]);
  });

  it('fails a response whose script throws', async () => {
    const { clock, fake, send, of } = await connect();
    fake.onTurn(async () => {
      throw new Error('script');
    });

    await send({ type: 'response.create' });
    await clock.advance(1000);

    expect(of('response.done')).toMatchObject([{ response: { status: 'failed' } }]);
  });

  it('speaks recorded sound at the rate of the session', async () => {
    await loadAudio();
    const { clock, fake, send, of } = await connect();
    fake.onTurn(() => [
      say('x', { sound: tone(1000, 440, 24000) }),
      raw({ type: 'response.hologram' }),
      stall(),
    ]);
    await send(PCMU_SESSION);
    await send({ type: 'response.create' });
    await clock.advance(3000);

    const bytes = of('response.output_audio.delta').map(
      ({ delta }) => Buffer.from(String(delta), 'base64').length,
    );
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBe(8000);
    expect(of('response.hologram')).toHaveLength(1);
    expect(of('response.done')).toEqual([]);
  });

  it('shows an item when asked, and keeps order when one is put in front', async () => {
    const { fake, send, of } = await connect();
    const message = (id: string, previous_item_id?: string) => ({
      type: 'conversation.item.create',
      ...(previous_item_id ? { previous_item_id } : {}),
      item: { id, type: 'message', role: 'user', content: [{ type: 'input_text', text: id }] },
    });

    await send(message('b'));
    await send(message('a', 'root'));
    await send(message('c', 'b'));
    await send(message('b'));
    await send({ type: 'conversation.item.retrieve', item_id: 'a' });
    await send({ type: 'conversation.item.delete', item_id: 'b' });

    expect(of('conversation.item.added').map(({ previous_item_id }) => previous_item_id)).toEqual([
      null,
      null,
      'b',
    ]);
    expect(fake.violations).toMatchObject([{ code: 'item_create_duplicate_item_id' }]);
    expect(of('conversation.item.retrieved')).toMatchObject([{ item: { id: 'a' } }]);
    expect(fake.session.items.map(({ id }) => id)).toEqual(['a', 'c']);
  });

  it('leaves nothing armed when the client is gone', async () => {
    const { clock, fake, send, socket } = await connect();
    fake.onTurn(() => [say('x', { durationMs: 20_000 })]);
    await send({ type: 'response.create' });
    await clock.advance(500);

    socket.terminate();
    await clock.settle();

    expect(clock.pendingTimers).toBe(0);
    expect(fake.session.isOpen).toBe(false);
  });
});
