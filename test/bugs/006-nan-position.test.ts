// Elsewhere: a playback report with a field of another spelling became undefined, then NaN, then null on the wire; the
// truncate was refused and the conversation stalled.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { hangUp, type Line, placeCall } from './line.ts';

const report = (line: Line, media: object) =>
  line.carrier.sendRaw(JSON.stringify({ event: 'media', streamSid: line.carrier.streamSid, media }));
const payload = Buffer.alloc(160, 0xff).toString('base64');

const story = () =>
  placeCall({
    config: { greeting: 'A story.' },
    turns: ({ index }) => [say('A story.', { durationMs: index === 0 ? 6000 : 400 })],
  });

describe('bug 6: a carrier’s report with a missing or odd field', () => {
  it.each([
    ['no timestamp', {}],
    ['a timestamp that is no number', { timestamp: 'soon' }],
    ['a timestamp that is null', { timestamp: null }],
    ['a timestamp that is an object', { timestamp: { ms: 5 } }],
    ['a negative timestamp', { timestamp: '-40' }],
    ['an endless timestamp', { timestamp: '1e999' }],
    ['a playback position in another spelling', { timestamp: '20', playback_position: '12.5' }],
  ])('with %s leaves the position whole and within the item', async (_, extra) => {
    const line = await story();
    const { clock, carrier, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1000);
    report(line, { track: 'inbound', payload, ...extra });
    await clock.advance(500);

    fake.session.startSpeech();
    await clock.advance(100);

    const [truncate] = fake.session.receivedOf('conversation.item.truncate');
    expect(Number.isInteger(truncate!.audio_end_ms)).toBe(true);
    expect(Math.abs(truncate!.audio_end_ms - 1500)).toBeLessThanOrEqual(80);
    await hangUp(line);
  });

  it('as a mark that is not ours, or ours from before a clear, moves nothing', async () => {
    const line = await story();
    const { clock, carrier, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1000);
    for (const name of ['', 'NaN', '0:', '0:m999', '7:m1', 'm1', '__proto__'])
      carrier.sendRaw(JSON.stringify({ event: 'mark', streamSid: carrier.streamSid, mark: { name } }));
    await clock.settle();

    fake.session.startSpeech();
    await clock.advance(100);

    const [truncate] = fake.session.receivedOf('conversation.item.truncate');
    expect(Math.abs(truncate!.audio_end_ms - 1000)).toBeLessThanOrEqual(80);
    await hangUp(line);
  });

  it('as a mark without its name ends the call cleanly, and what was heard is on record', async () => {
    const line = await story();
    const { clock, carrier, ended, store } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(3000);

    carrier.sendRaw(
      JSON.stringify({ event: 'mark', streamSid: carrier.streamSid, mark: { playback_position: 3 } }),
    );
    await clock.advance(1000);

    expect(ended).toMatchObject([{ reason: 'protocol_error' }]);
    expect(carrier.closeCode).toBe(1002);
    expect([...store.turns.values()][0]).toMatchObject({ finalAt: expect.any(Number) });
    expect(clock.pendingTimers).toBe(0);
  });
});
