import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { openRaw } from './support.ts';

const FRAME = Buffer.alloc(160, 0x7f).toString('base64');
const MINUTE = 60 * 50;

function heapAfterGc(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('an hour on one session', () => {
  it('keeps nothing of it: 180,000 frames, 3,600 responses, tools, cancels, transcripts', async () => {
    const { server, model, seen } = await openRaw();
    let turn = 0;
    const minute = () => {
      for (let frame = 0; frame < MINUTE; frame += 1) {
        model.appendAudio(FRAME);
        if (frame % 50 === 0) oneTurn();
      }
      server.sent.length = 0;
      seen.events.length = 0;
    };
    const oneTurn = () => {
      turn += 1;
      const at = { response_id: `resp_${turn}`, item_id: `item_${turn}`, output_index: 0, content_index: 0 };
      server.says({
        type: 'input_audio_buffer.speech_started',
        item_id: `user_${turn}`,
        audio_start_ms: turn,
      });
      server.says({ type: 'input_audio_buffer.committed', item_id: `user_${turn}` });
      server.says({
        type: 'conversation.item.input_audio_transcription.delta',
        item_id: `user_${turn}`,
        delta: 'never completed',
      });
      model.requestResponse({ requestId: `req_${turn}` });
      server.says({ type: 'response.created', response: { id: at.response_id } });
      server.says({ type: 'response.output_audio.delta', ...at, delta: FRAME });
      server.says({
        type: 'response.function_call_arguments.done',
        ...at,
        call_id: `call_${turn}`,
        name: 'x',
        arguments: '{}',
      });
      model.cancelResponse();
      model.truncate(at.item_id, 5);
      server.says({ type: 'response.hologram' });
      server.says({ type: 'response.done', response: { id: at.response_id, status: 'cancelled' } });
    };
    for (let n = 0; n < 25; n += 1) minute();
    const early = heapAfterGc();

    for (let n = 0; n < 35; n += 1) minute();

    expect(turn).toBe(3600);
    expect(heapAfterGc() - early).toBeLessThan(256 * 1024);
  });
});
