import { describe, expect, it } from 'vitest';
import { PCMU_8K } from '../../../src/audio/index.ts';
import { BoundedMap } from '../../../src/model/openai/bounded-map.ts';
import { severityOf } from '../../../src/model/openai/error-table.ts';
import {
  MAX_CANCELLED_RESPONSES,
  MAX_EXPECTED_RESPONSES,
  type OpenAiModel,
} from '../../../src/model/openai/index.ts';
import { AUTO_RESPONSE_WINDOW_MS, ResponseTracker } from '../../../src/model/openai/response-tracker.ts';
import { call, FakeClock, FakeModel, fail, incomplete, say, stall } from '../../../src/testing/index.ts';
import { openFake, openRaw } from './support.ts';

/** A session with a strict server on virtual time. */
async function withFake(options: Partial<ConstructorParameters<typeof FakeModel>[0]> = {}) {
  const clock = new FakeClock();
  const fake = new FakeModel({ clock, ...options });
  const opened = await openFake(clock, fake);
  return { clock, fake, ...opened };
}

describe('the sharp edges of the dialect', () => {
  it('a second response.create: the error names our request, and no response.done follows for it', async () => {
    const { clock, fake, model, seen } = await withFake();
    fake.onTurn(() => [say('A long answer that goes on and on.')]);

    model.requestResponse({ requestId: 'req_1' });
    model.requestResponse({ requestId: 'req_2' });
    await clock.advance(5000);

    expect(seen.of('error')).toMatchObject([
      { severity: 'benign', code: 'conversation_already_has_active_response', requestId: 'req_2' },
    ]);
    expect(seen.of('responseStarted')).toMatchObject([{ requestId: 'req_1' }]);
    expect(seen.of('responseDone')).toMatchObject([{ status: 'completed' }]);
  });

  it('an error about one request says nothing about another', async () => {
    const { server, model, seen } = await openRaw();
    model.requestResponse({ requestId: 'req_1' });
    server.says({ type: 'response.created', response: { id: 'resp_1', metadata: { request_id: 'req_1' } } });
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'completed' } });
    model.requestResponse({ requestId: 'req_2' });

    server.says({
      type: 'error',
      error: { code: 'conversation_already_has_active_response', event_id: 'req_1' },
    });
    server.says({ type: 'error', error: { code: 'invalid_value', event_id: 'client_1' } });

    expect(seen.of('error').map(({ requestId }) => requestId)).toEqual([undefined, undefined]);
    server.says({ type: 'response.created', response: { id: 'resp_2', metadata: { request_id: 'req_2' } } });
    expect(seen.of('responseStarted').at(-1)).toEqual({ responseId: 'resp_2', requestId: 'req_2' });
  });

  it('a cancel with nothing to cancel is benign and stays at home', async () => {
    const { fake, model, seen } = await withFake();

    model.cancelResponse();

    expect(seen.of('error')).toMatchObject([{ severity: 'benign', code: 'response_cancel_not_active' }]);
    expect(fake.session.receivedOf('response.cancel')).toEqual([]);
  });

  it('a cancel that crosses response.done on the wire is benign', async () => {
    const { server, model, seen } = await openRaw();
    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    model.cancelResponse();
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'completed' } });

    server.says({ type: 'error', error: { code: 'response_cancel_not_active', event_id: 'client_2' } });

    expect(seen.of('error')).toMatchObject([{ severity: 'benign', code: 'response_cancel_not_active' }]);
    expect(seen.of('closed')).toEqual([]);
  });

  it('a cancel wanted before response.created is sent once it has come', async () => {
    const { clock, fake, model, seen } = await withFake({ latencyMs: 40 });
    fake.onTurn(() => [say('Never heard.')]);

    model.requestResponse({ requestId: 'req_1' });
    model.cancelResponse();
    await clock.advance(60);
    expect(fake.session.receivedOf('response.cancel')).toEqual([]);
    await clock.advance(3000);

    expect(fake.session.receivedOf('response.cancel')).toMatchObject([
      { response_id: seen.of('responseStarted')[0]?.responseId },
    ]);
    expect(seen.of('responseDone')).toMatchObject([{ status: 'cancelled', errorCode: 'client_cancelled' }]);
    expect(seen.of('outputAudio')).toEqual([]);
    expect(fake.violations).toEqual([]);
  });

  it("a cancel wanted before the server's own answer exists is sent once it does", async () => {
    const { server, model } = await openRaw();
    server.says({ type: 'input_audio_buffer.committed', item_id: 'item_u' });

    model.cancelResponse();
    server.says({ type: 'response.created', response: { id: 'resp_1' } });

    expect(server.of('response.cancel')).toMatchObject([{ response_id: 'resp_1' }]);
  });

  it('a cancel wanted for an answer that never came does not hit a later one', async () => {
    const { clock, server, model } = await openRaw();
    server.says({ type: 'input_audio_buffer.committed', item_id: 'item_u' });
    model.cancelResponse();

    await clock.advance(AUTO_RESPONSE_WINDOW_MS + 1);
    server.says({ type: 'response.created', response: { id: 'resp_9' } });

    expect(server.of('response.cancel')).toEqual([]);
  });

  it('a cancel wanted for one request leaves the request made after it alone', async () => {
    const { server, model } = await openRaw();
    model.requestResponse({ requestId: 'req_1' });
    model.cancelResponse();
    model.requestResponse({ requestId: 'req_2' });

    server.says({ type: 'response.created', response: { id: 'resp_1', metadata: { request_id: 'req_1' } } });
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'cancelled' } });
    server.says({ type: 'response.created', response: { id: 'resp_2', metadata: { request_id: 'req_2' } } });

    expect(server.of('response.cancel')).toMatchObject([{ response_id: 'resp_1' }]);
  });

  it('a response is cancelled once, however often it is asked for', async () => {
    const { server, model, seen } = await openRaw();
    server.says({ type: 'response.created', response: { id: 'resp_1' } });

    model.cancelResponse();
    model.cancelResponse();

    expect(server.of('response.cancel')).toHaveLength(1);
    expect(seen.of('error')).toEqual([]);
  });

  it('a truncate beyond the audio is cut to what was received: 29,600 bytes are 3,700 ms', async () => {
    const { server, model } = await openRaw();
    const delta = Buffer.alloc(29_600, 0x7f).toString('base64');
    server.says({
      type: 'response.output_audio.delta',
      response_id: 'resp_1',
      item_id: 'item_1',
      output_index: 0,
      content_index: 0,
      delta,
    });

    model.truncate('item_1', 3760);

    expect(server.of('conversation.item.truncate')).toMatchObject([
      { item_id: 'item_1', content_index: 0, audio_end_ms: 3700 },
    ]);
  });

  it.each([
    [1499.99, 1499],
    [Number.NaN, 0],
    [Number.NEGATIVE_INFINITY, 0],
    [Number.POSITIVE_INFINITY, 0],
    [-4, 0],
    [0, 0],
  ])('a truncate at %d goes out as the integer %i', async (heardMs, audioEndMs) => {
    const { clock, fake, model, seen } = await withFake();
    fake.onTurn(() => [say('Two seconds.', { durationMs: 2000 })]);
    model.requestResponse({ requestId: 'req_1' });
    await clock.advance(5000);

    model.truncate(seen.of('outputAudio')[0]?.itemId ?? '', heardMs);
    await clock.advance(10);

    expect(fake.session.receivedOf('conversation.item.truncate')).toMatchObject([
      { audio_end_ms: audioEndMs },
    ]);
    expect(fake.violations).toEqual([]);
  });

  it('a truncate of an item without audio stays at home', async () => {
    const { fake, model, seen } = await withFake();

    model.truncate('item_text', 100);

    expect(seen.of('error')).toMatchObject([{ severity: 'benign', code: 'unsupported_content_type' }]);
    expect(fake.session.receivedOf('conversation.item.truncate')).toEqual([]);
  });

  it('audio that was under way when we cancelled is dropped, and counts for truncate all the same', async () => {
    const { server, model, seen } = await openRaw();
    const delta = {
      type: 'response.output_audio.delta',
      response_id: 'resp_1',
      item_id: 'item_1',
      content_index: 0,
      delta: Buffer.alloc(800, 0x7f).toString('base64'),
    };
    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    server.says(delta);
    model.cancelResponse();

    server.says(delta);
    server.says({
      type: 'response.output_audio_transcript.delta',
      response_id: 'resp_1',
      item_id: 'item_1',
      delta: 'late',
    });
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'cancelled' } });
    server.says(delta);
    model.truncate('item_1', 1000);

    expect(seen.of('outputAudio')).toHaveLength(1);
    expect(seen.of('outputTranscript')).toEqual([]);
    expect(server.of('conversation.item.truncate')).toMatchObject([{ audio_end_ms: 300 }]);
  });

  it('a session that hits its maximum is reported as one to be replaced', async () => {
    const { clock, fake, seen } = await withFake({ maxSessionMs: 60_000 });

    await clock.advance(60_000);

    expect(seen.of('error')).toMatchObject([
      { severity: 'retryable', code: 'session_expired' },
      { severity: 'retryable', code: 'session_expired' },
    ]);
    expect(seen.of('closed')).toEqual([{ code: 1001, reason: 'session_expired' }]);
    expect(fake.session.isOpen).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a rate limit is the end of one response, with its code', async () => {
    const { clock, fake, model, seen } = await withFake();
    fake.onTurn(() => [fail('rate_limit_exceeded')]);

    model.requestResponse({ requestId: 'req_1' });
    await clock.advance(1000);

    expect(seen.of('responseDone')).toMatchObject([{ status: 'failed', errorCode: 'rate_limit_exceeded' }]);
    expect(seen.of('error')).toEqual([]);
  });

  it('a response cut short by its limits is incomplete, with the reason', async () => {
    const { clock, fake, model, seen } = await withFake();
    fake.onTurn(() => [say('Half a'), incomplete('max_output_tokens')]);

    model.requestResponse({ requestId: 'req_1' });
    await clock.advance(3000);

    expect(seen.of('responseDone')).toMatchObject([{ status: 'incomplete', errorCode: 'max_output_tokens' }]);
  });

  it.each([
    'insufficient_quota',
    'invalid_api_key',
    'account_deactivated',
    'billing_hard_limit_reached',
    'beta_api_shape_disabled',
  ])('%s is fatal', async (code) => {
    const { server, seen } = await openRaw();

    server.says({ type: 'error', error: { type: 'invalid_request_error', code } });

    expect(seen.of('error')).toMatchObject([{ severity: 'fatal', code }]);
  });

  it.each([
    'input_audio_buffer_commit_empty',
    'invalid_type',
    'invalid_value',
    'unsupported_content_type',
    'conversation_already_has_active_response',
    'response_cancel_not_active',
    'a_code_of_tomorrow',
  ])('%s lets the session go on', (code) => {
    expect(severityOf(code)).toBe('benign');
  });

  it("a code in an error's type counts where the code is missing", async () => {
    const { server, seen } = await openRaw();

    server.says({ type: 'error', error: { type: 'insufficient_quota', code: null } });

    expect(seen.of('error')).toMatchObject([{ severity: 'fatal', code: 'insufficient_quota' }]);
  });

  it('a transcript that comes after the answer still belongs to its turn', async () => {
    const { clock, fake, model, seen } = await withFake({ transcriptionDelayMs: 2500 });
    fake.willHear('what time is it').onTurn(() => [say('Ten.', { durationMs: 200 })]);

    fake.session.startSpeech();
    fake.session.endSpeech();
    await clock.advance(4000);

    const committed = seen.of('inputCommitted')[0]?.itemId;
    expect(seen.of('inputTranscript').at(-1)).toEqual({
      itemId: committed,
      text: 'what time is it',
      final: true,
    });
    expect(seen.names().indexOf('responseDone')).toBeLessThan(seen.names().indexOf('inputTranscript'));
    expect(model.capabilities.style).toBe('turns');
  });

  it('a transcription that fails is benign and leaves the turn without one', async () => {
    const { clock, fake, seen } = await withFake();
    fake.willHear(null);

    fake.session.startSpeech();
    fake.session.endSpeech();
    await clock.advance(3000);

    expect(seen.of('error')).toMatchObject([{ severity: 'benign', code: 'input_transcription_failed' }]);
    expect(seen.of('inputTranscript')).toEqual([]);
    expect(seen.of('responseDone')).toHaveLength(1);
  });

  it('a server that never ends a response is cancelled like any other', async () => {
    const { clock, fake, model, seen } = await withFake();
    fake.onTurn(({ index }) => (index === 0 ? [stall()] : [say('Back again.')]));

    model.requestResponse({ requestId: 'req_1' });
    await clock.advance(20_000);
    expect(seen.of('responseDone')).toEqual([]);
    model.cancelResponse();
    await clock.advance(10);
    model.requestResponse({ requestId: 'req_2' });
    await clock.advance(3000);

    expect(seen.of('responseDone').map(({ status }) => status)).toEqual(['cancelled', 'completed']);
    expect(fake.violations).toEqual([]);
  });

  it('the same call id is reported once, whatever a model does', async () => {
    const { server, seen } = await openRaw();
    const done = (args: string) => ({
      type: 'response.function_call_arguments.done',
      response_id: 'resp_1',
      item_id: 'item_1',
      output_index: 0,
      call_id: 'call_1',
      name: 'pay',
      arguments: args,
    });

    server.says(done('{"amount":5}'));
    server.says(done('{"amount":500}'));

    expect(seen.of('toolCall')).toMatchObject([{ args: '{"amount":5}' }]);
  });
});

describe('matching responses to requests by order, where metadata may be dropped', () => {
  const compatible = { provider: 'openai-compatible', baseUrl: 'ws://127.0.0.1:9/v1' } as const;

  it('sends no metadata and takes the oldest request', async () => {
    const { server, model, seen } = await openRaw({ config: compatible });

    model.requestResponse({ requestId: 'req_1' });
    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'completed' } });

    expect(server.of('response.create')).toEqual([{ type: 'response.create', event_id: 'req_1' }]);
    expect(seen.of('responseStarted')).toEqual([{ responseId: 'resp_1', requestId: 'req_1' }]);
  });

  it("keeps the server's own answers and ours apart, in the order they were due", async () => {
    const { server, model, seen } = await openRaw({ config: compatible });

    server.says({ type: 'input_audio_buffer.committed', item_id: 'item_u' });
    model.requestResponse({ requestId: 'req_1' });
    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    server.says({ type: 'response.done', response: { id: 'resp_1', status: 'completed' } });
    server.says({ type: 'response.created', response: { id: 'resp_2' } });

    expect(seen.of('responseStarted')).toEqual([
      { responseId: 'resp_1' },
      { responseId: 'resp_2', requestId: 'req_1' },
    ]);
  });
});

describe('what is remembered', () => {
  it('is bounded: cancelled responses', () => {
    const tracker = new ResponseTracker('metadata');
    for (let n = 0; n <= MAX_CANCELLED_RESPONSES; n += 1) {
      tracker.created(`resp_${n}`, null, 0);
      tracker.wantCancel(0);
      tracker.done(`resp_${n}`);
    }

    expect(tracker.isCancelled('resp_0')).toBe(false);
    expect(tracker.isCancelled('resp_1')).toBe(true);
    expect(tracker.isCancelled(`resp_${MAX_CANCELLED_RESPONSES}`)).toBe(true);
  });

  it('is bounded: requests that nobody answers', () => {
    const tracker = new ResponseTracker('order');
    for (let n = 0; n <= MAX_EXPECTED_RESPONSES; n += 1) tracker.expectRequest(`req_${n}`);

    expect(tracker.refused('req_0')).toBe(false);
    expect(tracker.created('resp_1', null, 0).requestId).toBe('req_1');
  });

  it('forgets the oldest first', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 3);
    map.set('c', 4);

    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([undefined, 2, 4, 2]);
  });
});

describe('a conversation with a strict server', () => {
  it('runs by voice, with a tool and an interruption, without one refused message', async () => {
    const clock = new FakeClock();
    const fake = new FakeModel({ clock }).willHear('read me the notes', 'stop').onTurn((turn) => {
      if (turn.toolOutputs.length > 0)
        return [say('Here are your notes, all of them.', { durationMs: 9000 })];
      return turn.heard === 'stop' ? [say('All right.')] : [call('read_file', { path: 'notes.md' })];
    });
    const { model, seen } = await openFake(clock, fake, { session: { inputFormat: PCMU_8K } });
    model.on('toolCall', ({ callId }) => model.sendToolOutput(callId, 'buy milk'));
    model.on('responseDone', () => {
      if (seen.of('responseDone').length === 1) model.requestResponse({ requestId: 'req_1' });
    });
    model.on('speechStarted', () => {
      const item = seen.of('outputAudio').at(-1)?.itemId;
      if (item !== undefined) model.truncate(item, 700);
    });
    const speak = async (ms: number) => {
      const loud = Buffer.alloc(160, 0x10).toString('base64');
      const quiet = Buffer.alloc(160, 0xff).toString('base64');
      for (let t = 0; t < ms + 600; t += 20) {
        model.appendAudio(t < ms ? loud : quiet);
        await clock.advance(20);
      }
    };

    await speak(800);
    await clock.advance(800);
    await speak(400);
    await clock.advance(4000);

    expect(fake.violations).toEqual([]);
    expect(seen.of('toolCall')).toMatchObject([{ name: 'read_file', args: '{"path":"notes.md"}' }]);
    expect(seen.of('responseDone').map(({ status }) => status)).toEqual([
      'completed',
      'cancelled',
      'completed',
    ]);
    expect(fake.session.sentOf('conversation.item.truncated')).toMatchObject([{ audio_end_ms: 700 }]);
    expect(
      seen
        .of('outputTranscript')
        .filter(({ final }) => final)
        .at(-1)?.text,
    ).toBe('All right.');
    expect((model as OpenAiModel).ignoredEvents).toBeGreaterThan(0);
  });
});
