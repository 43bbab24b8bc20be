// Elsewhere: an error that means "not now" was treated as the end: one collision tore the whole call down.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { callerSays, errorEvent, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 18: an error that concerns one message', () => {
  it.each([
    'conversation_already_has_active_response',
    'input_audio_buffer_commit_empty',
    'invalid_value',
    'item_truncate_invalid_item_id',
    'something_new',
  ])('(%s) is counted, and the call goes on on the same session', async (code) => {
    const line = await placeCall({ turns: () => [say('An answer.', { durationMs: 1000 })] });
    const { carrier, clock, fake } = line;
    fake.session.inject(errorEvent(code) as { type: string });
    fake.session.inject(errorEvent(code, 'rq_1') as { type: string });
    await clock.settle();

    await callerSays(line);
    await clock.advance(3000);

    expect(heardMs(carrier)).toBeGreaterThanOrEqual(980);
    expect(fake.sessions).toHaveLength(1);
    const { counters, reason } = await hangUp(line);
    expect(counters).toMatchObject({ model_error_benign: 2 });
    expect(reason).toBe('caller_hangup');
  });
});
