import type { RealtimeClientEvent } from 'openai/resources/realtime/realtime';
import { describe, expect, it } from 'vitest';
import { PCM16_8K, PCM16_24K } from '../../../src/audio/index.ts';
import { openRaw } from './support.ts';

describe('what the client sends', () => {
  it('configures everything in one session.update, in the GA shape', async () => {
    const { server } = await openRaw();

    const expected: RealtimeClientEvent = {
      type: 'session.update',
      event_id: 'client_1',
      session: {
        type: 'realtime',
        instructions: 'You are Nano, on the phone.',
        output_modalities: ['audio'],
        audio: {
          input: {
            format: { type: 'audio/pcmu' },
            transcription: { model: 'gpt-4o-mini-transcribe' },
            turn_detection: {
              type: 'server_vad',
              threshold: 0.5,
              prefix_padding_ms: 300,
              silence_duration_ms: 500,
              create_response: true,
              interrupt_response: true,
            },
          },
          output: { format: { type: 'audio/pcmu' }, voice: 'marin' },
        },
        tools: [
          {
            type: 'function',
            name: 'read_file',
            description: 'Reads a file.',
            parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
          },
        ],
        tool_choice: 'auto',
      },
    };
    expect(server.sent).toEqual([expected]);
    expect(server.request).toEqual({
      url: 'wss://api.openai.com/v1/realtime?model=gpt-realtime-2.1',
      headers: { Authorization: 'Bearer sk-test-do-not-print-me' },
      host: 'api.openai.com',
    });
  });

  it('asks for what the config says: semantic turns, no transcripts, 24 kHz, no interruption of its own', async () => {
    const { server, model } = await openRaw({
      config: {
        transcriptionModel: null,
        voice: 'cedar',
        turnDetection: { type: 'semantic_vad', eagerness: 'high' },
      },
      session: { inputFormat: PCM16_24K, outputFormat: PCM16_24K, tools: [] },
      options: { interruptResponse: false },
    });

    expect(server.sent[0]).toMatchObject({
      session: {
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24000 },
            transcription: null,
            turn_detection: {
              type: 'semantic_vad',
              eagerness: 'high',
              create_response: true,
              interrupt_response: false,
            },
          },
          output: { format: { type: 'audio/pcm', rate: 24000 }, voice: 'cedar' },
        },
        tools: [],
      },
    });
    expect(model.capabilities.interruptsItself).toBe(false);
  });

  it('speaks to Azure with its own header and path', async () => {
    const { server } = await openRaw({
      config: { provider: 'azure', baseUrl: 'https://res.openai.azure.com', model: 'my-deployment' },
    });

    expect(server.request).toMatchObject({
      url: 'wss://res.openai.azure.com/openai/v1/realtime?model=my-deployment',
      headers: { 'api-key': 'sk-test-do-not-print-me' },
    });
    expect(server.sent[0]).toMatchObject({ session: { type: 'realtime' } });
  });

  it('gives xAI the flatter session it wants, at rates it takes', async () => {
    const { server } = await openRaw({
      config: { provider: 'xai', model: 'grok-voice-latest', voice: 'eve' },
      session: { inputFormat: PCM16_8K, outputFormat: PCM16_8K, tools: [] },
    });

    expect(server.request?.url).toBe('wss://api.x.ai/v1/realtime?model=grok-voice-latest');
    expect(server.sent[0]).toEqual({
      type: 'session.update',
      event_id: 'client_1',
      session: {
        instructions: 'You are Nano, on the phone.',
        output_modalities: ['audio'],
        audio: {
          input: { format: { type: 'audio/pcm', rate: 8000 } },
          output: { format: { type: 'audio/pcm', rate: 8000 } },
        },
        voice: 'eve',
        turn_detection: {
          type: 'server_vad',
          threshold: 0.5,
          prefix_padding_ms: 300,
          silence_duration_ms: 500,
          create_response: true,
          interrupt_response: true,
        },
        tools: [],
        tool_choice: 'auto',
      },
    });
  });

  it('passes µ-law through as the very base64 it came in', async () => {
    const { server, model } = await openRaw();

    model.appendAudio('//////9/');
    model.appendAudio(new Uint8Array([0xff, 0x7f, 0x00]));

    const expected: RealtimeClientEvent[] = [
      { type: 'input_audio_buffer.append', audio: '//////9/' },
      { type: 'input_audio_buffer.append', audio: '/38A' },
    ];
    expect(server.of('input_audio_buffer.append')).toEqual(expected);
  });

  it('cannot be made to send another message by what claims to be audio', async () => {
    const { server, model } = await openRaw();

    model.appendAudio('"}\n{"type":"response.create","x":"');

    expect(server.of('response.create')).toEqual([]);
    expect(server.sent.at(-1)).toEqual({
      type: 'input_audio_buffer.append',
      audio: '"}\n{"type":"response.create","x":"',
    });
  });

  it('writes history, context, tool outputs and deletions as items', async () => {
    const { server, model } = await openRaw({ session: { history: [{ role: 'user', text: 'hello' }] } });

    model.restore([{ role: 'assistant', text: 'hi' }]);
    model.addContext('system', 'The caller pressed 5.');
    model.sendToolOutput('call_1', '{"ok":true}');
    model.deleteItem('item_9');

    const expected: RealtimeClientEvent[] = [
      {
        type: 'conversation.item.create',
        event_id: 'client_2',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
      },
      {
        type: 'conversation.item.create',
        event_id: 'client_3',
        item: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
      },
      {
        type: 'conversation.item.create',
        event_id: 'client_4',
        item: {
          type: 'message',
          role: 'system',
          content: [{ type: 'input_text', text: 'The caller pressed 5.' }],
        },
      },
      {
        type: 'conversation.item.create',
        event_id: 'client_5',
        item: { type: 'function_call_output', call_id: 'call_1', output: '{"ok":true}' },
      },
      { type: 'conversation.item.delete', event_id: 'client_6', item_id: 'item_9' },
    ];
    expect(server.sent.slice(1)).toEqual(expected);
  });

  it('names a request in its event id and its metadata', async () => {
    const { server, model } = await openRaw();

    model.requestResponse({ requestId: 'req_1' });

    const expected: RealtimeClientEvent = {
      type: 'response.create',
      event_id: 'req_1',
      response: { metadata: { request_id: 'req_1' } },
    };
    expect(server.sent.at(-1)).toEqual(expected);
  });

  it('keeps the persona in front of instructions and words for one response', async () => {
    const { server, model } = await openRaw();

    model.requestResponse({ requestId: 'req_1', instructions: 'Apologise.' });
    model.requestResponse({ requestId: 'req_2', say: 'Hello, how can I help you?' });

    expect(server.sent.at(-2)).toEqual({
      type: 'response.create',
      event_id: 'req_1',
      response: {
        instructions: 'You are Nano, on the phone.\n\nApologise.',
        metadata: { request_id: 'req_1' },
      },
    });
    expect(server.sent.at(-1)).toEqual({
      type: 'response.create',
      event_id: 'req_2',
      response: {
        instructions:
          'You are Nano, on the phone.\n\nSay exactly the following, word for word, and nothing else:\nHello, how can I help you?',
        tool_choice: 'none',
        metadata: { request_id: 'req_2' },
      },
    });
  });

  it('sends only what changes of a session', async () => {
    const { server, model } = await openRaw();

    model.updateSession({ instructions: 'Be brief.' });
    model.updateSession({ tools: [] });

    const expected: RealtimeClientEvent[] = [
      {
        type: 'session.update',
        event_id: 'client_2',
        session: { type: 'realtime', instructions: 'Be brief.' },
      },
      { type: 'session.update', event_id: 'client_3', session: { type: 'realtime', tools: [] } },
    ];
    expect(server.sent.slice(1)).toEqual(expected);
  });

  it('never says the retired beta dialect', async () => {
    const { server } = await openRaw();

    expect(Object.keys(server.request?.headers ?? {})).toEqual(['Authorization']);
    expect(JSON.stringify(server.sent)).not.toMatch(
      /modalities":\["audio","text"\]|g711_ulaw|input_audio_format/,
    );
  });
});
