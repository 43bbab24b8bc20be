import { describe, expect, it } from 'vitest';
import { MAX_MALFORMED_EVENTS, type OpenAiModel } from '../../../src/model/openai/index.ts';
import { openRaw } from './support.ts';

const at = { response_id: 'resp_1', item_id: 'item_1', output_index: 0, content_index: 0 };

describe('what the server says', () => {
  it('becomes our events, one by one, through a spoken turn with a tool call', async () => {
    const { server, seen } = await openRaw();
    seen.events.length = 0;

    server.says({ type: 'input_audio_buffer.speech_started', audio_start_ms: 120, item_id: 'item_u' });
    server.says({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: 1900, item_id: 'item_u' });
    server.says({ type: 'input_audio_buffer.committed', previous_item_id: null, item_id: 'item_u' });
    server.says({ type: 'conversation.item.added', item: { id: 'item_u', type: 'message', role: 'user' } });
    server.says({
      type: 'response.created',
      response: { id: 'resp_1', status: 'in_progress', metadata: null },
    });
    server.says({ type: 'rate_limits.updated', rate_limits: [] });
    server.says({
      type: 'response.output_item.added',
      response_id: 'resp_1',
      output_index: 0,
      item: { id: 'item_1', type: 'message', role: 'assistant', content: [], status: 'in_progress' },
    });
    server.says({ type: 'response.output_audio_transcript.delta', ...at, delta: 'One ' });
    server.says({ type: 'response.output_audio.delta', ...at, delta: 'f39/fw==' });
    server.says({
      type: 'conversation.item.input_audio_transcription.delta',
      item_id: 'item_u',
      content_index: 0,
      delta: 'read ',
    });
    server.says({
      type: 'conversation.item.input_audio_transcription.delta',
      item_id: 'item_u',
      content_index: 0,
      delta: 'it',
    });
    server.says({ type: 'response.output_audio.done', ...at });
    server.says({ type: 'response.output_audio_transcript.done', ...at, transcript: 'One moment.' });
    server.says({
      type: 'response.function_call_arguments.done',
      response_id: 'resp_1',
      item_id: 'item_2',
      output_index: 1,
      call_id: 'call_1',
      name: 'read_file',
      arguments: '{"path":"a.txt"}',
    });
    server.says({
      type: 'response.output_item.done',
      response_id: 'resp_1',
      output_index: 1,
      item: {
        id: 'item_2',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'read_file',
        arguments: '{"path":"a.txt"}',
      },
    });
    server.says({
      type: 'response.done',
      response: {
        id: 'resp_1',
        status: 'completed',
        status_details: null,
        output: [
          {
            id: 'item_2',
            type: 'function_call',
            status: 'completed',
            call_id: 'call_1',
            name: 'read_file',
            arguments: '{"path":"a.txt"}',
          },
        ],
        usage: {
          total_tokens: 30,
          input_tokens: 20,
          output_tokens: 10,
          input_token_details: { text_tokens: 5, audio_tokens: 15, cached_tokens: 4 },
          output_token_details: { text_tokens: 2, audio_tokens: 8 },
        },
      },
    });
    server.says({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: 'item_u',
      content_index: 0,
      transcript: 'Read it.',
      usage: { type: 'duration', seconds: 2 },
    });

    expect(seen.events).toEqual([
      ['speechStarted', { itemId: 'item_u', audioStartMs: 120 }],
      ['speechStopped', { itemId: 'item_u', audioEndMs: 1900 }],
      ['inputCommitted', { itemId: 'item_u' }],
      ['responseStarted', { responseId: 'resp_1' }],
      ['outputTranscript', { responseId: 'resp_1', itemId: 'item_1', text: 'One ', final: false }],
      ['outputAudio', { responseId: 'resp_1', itemId: 'item_1', audio: 'f39/fw==' }],
      ['inputTranscript', { itemId: 'item_u', text: 'read ', final: false }],
      ['inputTranscript', { itemId: 'item_u', text: 'read it', final: false }],
      ['outputAudioDone', { responseId: 'resp_1', itemId: 'item_1' }],
      ['outputTranscript', { responseId: 'resp_1', itemId: 'item_1', text: 'One moment.', final: true }],
      ['toolCall', { responseId: 'resp_1', callId: 'call_1', name: 'read_file', args: '{"path":"a.txt"}' }],
      [
        'responseDone',
        {
          responseId: 'resp_1',
          status: 'completed',
          usage: {
            inputTokens: 20,
            outputTokens: 10,
            inputAudioTokens: 15,
            outputAudioTokens: 8,
            cachedInputTokens: 4,
          },
        },
      ],
      ['inputTranscript', { itemId: 'item_u', text: 'Read it.', final: true }],
    ]);
  });

  it('gives three calls with interleaved arguments as three calls, whichever event completes them', async () => {
    const { server, seen } = await openRaw();
    const call = (n: number) => ({
      id: `item_${n}`,
      type: 'function_call',
      status: 'completed',
      call_id: `call_${n}`,
      name: `tool_${n}`,
      arguments: `{"n":${n}}`,
    });
    for (const n of [1, 2, 3]) {
      const item = { ...call(n), status: 'in_progress', arguments: '' };
      server.says({ type: 'response.output_item.added', response_id: 'resp_1', output_index: n, item });
    }
    for (const n of [3, 1, 2]) {
      server.says({
        type: 'response.function_call_arguments.delta',
        response_id: 'resp_1',
        item_id: `item_${n}`,
        output_index: n,
        call_id: `call_${n}`,
        delta: '{"n":',
      });
    }
    // 1: by arguments.done without a name; 2: by output_item.done; 3: only in response.done.
    server.says({
      type: 'response.function_call_arguments.done',
      response_id: 'resp_1',
      item_id: 'item_1',
      output_index: 1,
      call_id: 'call_1',
      arguments: '{"n":1}',
    });
    server.says({ type: 'response.output_item.done', response_id: 'resp_1', output_index: 2, item: call(2) });
    server.says({
      type: 'response.done',
      response: { id: 'resp_1', status: 'completed', output: [call(1), call(2), call(3)] },
    });

    expect(seen.of('toolCall').map(({ callId, name, args }) => [callId, name, args])).toEqual([
      ['call_1', 'tool_1', '{"n":1}'],
      ['call_2', 'tool_2', '{"n":2}'],
      ['call_3', 'tool_3', '{"n":3}'],
    ]);
  });

  it('does not report a call that a cancel cut in half', async () => {
    const { server, seen } = await openRaw();

    server.says({
      type: 'response.output_item.done',
      response_id: 'resp_1',
      output_index: 0,
      item: {
        id: 'item_1',
        type: 'function_call',
        status: 'incomplete',
        call_id: 'call_1',
        name: 'read_file',
        arguments: '{"pa',
      },
    });

    expect(seen.of('toolCall')).toEqual([]);
  });

  it('skips and counts events it does not know', async () => {
    const { server, seen, model } = await openRaw();
    seen.events.length = 0;

    server.says({ type: 'response.hologram.delta', delta: 'x' });
    server.says({ type: 'mcp_list_tools.completed', item_id: 'item_1' });

    expect(seen.events).toEqual([]);
    expect((model as OpenAiModel).ignoredEvents).toBe(2);
  });

  it.each([
    ['text that is not JSON', 'nonsense {'],
    ['JSON that is no object', '[1,2]'],
    ['an object without a type', '{"a":1}'],
    ['audio without an item', '{"type":"response.output_audio.delta","response_id":"resp_1","delta":"AA=="}'],
    [
      'audio that is a number',
      '{"type":"response.output_audio.delta","response_id":"r","item_id":"i","delta":7}',
    ],
    ['a response without an id', '{"type":"response.created","response":{}}'],
    ['an error without a body', '{"type":"error"}'],
    ['a binary frame', new Uint8Array([1, 2, 3])],
  ])('reports %s and goes on', async (_what, data) => {
    const { server, seen } = await openRaw();

    server.sink?.message(data);
    server.says({ type: 'input_audio_buffer.committed', item_id: 'item_u' });

    expect(seen.of('error')).toEqual([
      {
        severity: 'benign',
        code: 'malformed_event',
        message: 'The model refused one message (malformed_event); the session goes on.',
      },
    ]);
    expect(seen.of('inputCommitted')).toEqual([{ itemId: 'item_u' }]);
  });

  it('gives a server up that gets everything wrong', async () => {
    const { server, seen } = await openRaw();

    for (let n = 0; n <= MAX_MALFORMED_EVENTS + 5; n += 1) server.sink?.message('?');

    expect(seen.of('error')).toHaveLength(MAX_MALFORMED_EVENTS + 1);
    expect(seen.of('error').at(-1)).toMatchObject({ severity: 'retryable', code: 'malformed_events' });
    expect(seen.of('closed')).toEqual([{ code: 1002, reason: 'malformed_events' }]);
  });

  it('takes optional fields that are null, and numbers that are none', async () => {
    const { server, seen } = await openRaw();

    server.says({ type: 'input_audio_buffer.speech_started', audio_start_ms: 'soon', item_id: null });
    server.says({
      type: 'response.done',
      response: {
        id: 'resp_1',
        status: null,
        status_details: null,
        output: null,
        usage: { input_tokens: 'many' },
      },
    });

    expect(seen.of('speechStarted')).toEqual([{}]);
    expect(seen.of('responseDone')).toEqual([{ responseId: 'resp_1', status: 'completed', usage: {} }]);
  });

  it('reads the words of a text answer too', async () => {
    const { server, seen } = await openRaw();

    server.says({ type: 'response.output_text.delta', ...at, delta: 'Hi' });
    server.says({ type: 'response.output_text.done', ...at, text: 'Hi there' });

    expect(seen.of('outputTranscript').map(({ text, final }) => [text, final])).toEqual([
      ['Hi', false],
      ['Hi there', true],
    ]);
  });

  it("reads xAI's cumulative transcripts, and one that it completes and then changes", async () => {
    const { server, seen } = await openRaw({ config: { provider: 'xai', model: 'grok-voice-latest' } });
    const name = 'conversation.item.input_audio_transcription';

    server.says({ type: `${name}.updated`, item_id: 'item_u', transcript: 'what' });
    server.says({ type: `${name}.updated`, item_id: 'item_u', transcript: 'what time' });
    server.says({
      type: `${name}.completed`,
      item_id: 'item_u',
      transcript: 'what time',
      status: 'in_progress',
    });
    server.says({ type: `${name}.completed`, item_id: 'item_u', transcript: 'What time is it?' });

    expect(seen.of('inputTranscript').map(({ text, final }) => [text, final])).toEqual([
      ['what', false],
      ['what time', false],
      ['what time', false],
      ['What time is it?', true],
    ]);
  });

  it('says that the model stopped by itself when nobody spoke and nobody asked', async () => {
    const { server, seen, model } = await openRaw();
    const done = (id: string) => ({
      type: 'response.done',
      response: { id, status: 'cancelled', status_details: { type: 'cancelled', reason: 'turn_detected' } },
    });

    server.says({ type: 'response.created', response: { id: 'resp_1' } });
    server.says(done('resp_1'));
    server.says({ type: 'response.created', response: { id: 'resp_2' } });
    server.says({ type: 'input_audio_buffer.speech_started', item_id: 'item_u' });
    server.says(done('resp_2'));
    server.says({ type: 'response.created', response: { id: 'resp_3' } });
    model.cancelResponse();
    server.says(done('resp_3'));

    expect(seen.names().filter((name) => name === 'interrupted')).toHaveLength(1);
    expect(seen.of('responseDone').map(({ errorCode }) => errorCode)).toEqual([
      'turn_detected',
      'turn_detected',
      'turn_detected',
    ]);
  });
});
