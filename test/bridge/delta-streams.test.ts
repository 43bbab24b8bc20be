import { describe, expect, it } from 'vitest';
import { DeltaStreams, MAX_STREAM_CHARS, MAX_STREAMS } from '../../src/bridge/delta-streams.ts';

const METADATA = { realtime_request: 'r1' };
const part = (text: string, more: object = {}) => ({
  chatId: 'ada',
  text,
  streamId: 'realtime:ada:1:0',
  metadata: METADATA,
  ...more,
});

describe('a streamed answer', () => {
  it('is its parts put together, once it ends', () => {
    const streams = new DeltaStreams();

    expect(streams.take(part('Under '))).toBeNull();
    expect(streams.take(part('the pot.', { end: true }))).toEqual({
      chatId: 'ada',
      content: 'Under the pot.',
      metadata: METADATA,
      kind: 'final',
    });
    expect(streams.size).toBe(0);
  });

  it('was progress so far when the agent goes on to a tool', () => {
    const streams = new DeltaStreams();

    expect(streams.take(part('Let me look.', { end: true, resuming: true }))).toMatchObject({
      kind: 'progress',
      content: 'Let me look.',
    });
    expect(streams.take(part('Found it.', { streamId: 'realtime:ada:1:1', end: true }))).toMatchObject({
      kind: 'final',
      content: 'Found it.',
    });
  });

  it('goes on in the next segment when that is to be merged', () => {
    const streams = new DeltaStreams();
    streams.take(part('One, ', { end: true, mergeNext: true }));

    expect(streams.take(part('two.', { streamId: 'realtime:ada:1:1', end: true }))).toMatchObject({
      content: 'One, two.',
    });
  });

  it('of one chat is not mixed with another’s', () => {
    const streams = new DeltaStreams();
    streams.take(part('for Ada'));
    streams.take(part('for Bob', { chatId: 'bob' }));

    expect(streams.take(part('.', { chatId: 'bob', end: true }))).toMatchObject({
      chatId: 'bob',
      content: 'for Bob.',
    });
  });

  it('that says nothing is no message', () => {
    expect(new DeltaStreams().take(part(' ', { end: true }))).toBeNull();
  });

  it('has a bound, and there is a bound of how many there are', () => {
    const streams = new DeltaStreams();
    for (let index = 0; index < MAX_STREAMS + 5; index++)
      streams.take(part('x', { chatId: `chat ${index}` }));
    streams.take(part('y'.repeat(MAX_STREAM_CHARS + 10)));

    expect(streams.size).toBe(MAX_STREAMS);
    expect(streams.take(part('', { end: true }))?.content).toHaveLength(MAX_STREAM_CHARS);
  });
});
