import { describe, expect, it } from 'vitest';
import type { LegCloseReason } from '../../../src/leg/index.ts';
import { MAX_BUFFERED_BYTES, MAX_MARK_CHARS, TwilioLeg } from '../../../src/leg/twilio/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { CALL_SID, frame, MemorySocket, mediaMessage, STREAM_SID, startMessage } from './memory-socket.ts';

const SILENCE = frame(0xff);
const SPEECH = frame(0x7f);

function setUp(noMediaTimeoutMs?: number, streamSid = STREAM_SID) {
  const clock = new FakeClock();
  const socket = new MemorySocket();
  const start = { streamSid, accountSid: 'AC1', callSid: CALL_SID, customParameters: {} };
  const leg = new TwilioLeg({
    socket,
    start,
    clock,
    ...(noMediaTimeoutMs === undefined ? {} : { noMediaTimeoutMs }),
  });
  const audio: unknown[] = [];
  const digits: string[] = [];
  const played: string[] = [];
  const closed: LegCloseReason[] = [];
  leg.on('audio', (each) => audio.push(each));
  leg.on('dtmf', (each) => digits.push(each));
  leg.on('played', (each) => played.push(each));
  leg.on('closed', (each) => closed.push(each));
  return { clock, socket, leg, audio, digits, played, closed };
}

const markBack = (name: unknown) => ({ event: 'mark', streamSid: STREAM_SID, mark: { name } });
const markNames = (socket: MemorySocket) =>
  socket.messages.filter((each) => each.event === 'mark').map((each) => (each.mark as { name: string }).name);

describe('a Twilio leg', () => {
  it("hands the caller's audio on untouched, and the inbound track only", () => {
    const { socket, audio } = setUp();
    socket.receive(mediaMessage(0));
    socket.receive(mediaMessage(0, 0x11, 'outbound'));
    expect(audio).toEqual([SPEECH]);
  });

  it('emits digits', () => {
    const { socket, digits } = setUp();
    for (const digit of ['1', '#', '*', 'D']) {
      socket.receive({ event: 'dtmf', streamSid: STREAM_SID, dtmf: { track: 'inbound_track', digit } });
    }
    expect(digits).toEqual(['1', '#', '*', 'D']);
  });

  it('sends media, marks and clear as Twilio wants them', () => {
    const { socket, leg } = setUp();
    leg.send('item', SPEECH);
    leg.send('item', Buffer.alloc(160, 0x7f));
    leg.clear();
    expect(socket.messages).toEqual([
      { event: 'media', streamSid: STREAM_SID, media: { payload: SPEECH } },
      { event: 'media', streamSid: STREAM_SID, media: { payload: SPEECH } },
      { event: 'clear', streamSid: STREAM_SID },
    ]);
  });

  it('sends whole messages of a stream whose id is not of ASCII', () => {
    const { socket, leg } = setUp(undefined, 'MZ-größe');
    leg.send('item', SPEECH);
    expect(socket.messages).toEqual([{ event: 'media', streamSid: 'MZ-größe', media: { payload: SPEECH } }]);
  });

  it('gives marks back under the name they were asked for', () => {
    const { socket, leg, played } = setUp();
    leg.mark('a:b');
    socket.receive(markBack(markNames(socket)[0]));
    expect(played).toEqual(['a:b']);
  });

  it('swallows the marks that a clear sent back, and only those', () => {
    const { socket, leg, played } = setUp();
    leg.mark('one');
    leg.mark('two');
    const before = markNames(socket);
    leg.clear();
    leg.mark('three');
    for (const name of before) socket.receive(markBack(name));
    socket.receive(markBack(markNames(socket)[2]));
    expect(played).toEqual(['three']);
  });

  it('ignores marks that it never sent', () => {
    const { socket, played, closed } = setUp();
    for (const name of ['x', ':x', '99:x', '']) socket.receive(markBack(name));
    expect(played).toEqual([]);
    expect(closed).toEqual([]);
  });

  it('refuses a mark name that is too long', () => {
    const { leg } = setUp();
    expect(() => leg.mark('x'.repeat(MAX_MARK_CHARS + 1))).toThrow(/at most 64/);
  });

  it('fills what frames left out with silence, before the frame that follows', () => {
    const { socket, audio } = setUp();
    socket.receive(mediaMessage(0));
    socket.receive(mediaMessage(60));
    expect(audio).toEqual([SPEECH, SILENCE, SILENCE, SPEECH]);
  });

  it('goes on with silence when frames stop, up to a bound longer than any pause that ends a turn', async () => {
    const { clock, socket, audio } = setUp();
    socket.receive(mediaMessage(0));
    await clock.advance(1000);
    expect(audio.length).toBe(1 + 50);
    await clock.advance(120_000);
    expect(audio.length).toBe(1 + 600);
    expect(new Set(audio.slice(1))).toEqual(new Set([SILENCE]));
  });

  it('says nothing for a caller whose stream has not begun to flow', async () => {
    const { clock, audio } = setUp();
    await clock.advance(5000);
    expect(audio).toEqual([]);
  });

  it('closes when no frame of Twilio came for the time given; its own silence does not count', async () => {
    const { clock, socket, closed, leg } = setUp(30_000);
    await clock.advance(10_000);
    socket.receive(mediaMessage(0));
    expect(leg.lastMediaAt).toBe(10_000);
    await clock.advance(29_999);
    expect(closed).toEqual([]);
    await clock.advance(1);
    expect(closed).toEqual(['no_media']);
    expect(socket.closeCode).toBe(1000);
  });

  it('ends as a hang-up of the caller on stop', () => {
    const { socket, closed } = setUp();
    socket.receive({ event: 'stop', streamSid: STREAM_SID, stop: { accountSid: 'AC1', callSid: CALL_SID } });
    expect(closed).toEqual(['caller_hangup']);
  });

  it('ends as a lost connection when the socket closes without a stop', () => {
    const { socket, closed } = setUp();
    socket.drop();
    expect(closed).toEqual(['connection_lost']);
  });

  it('ends itself once, however often it is asked', async () => {
    const { socket, leg, closed } = setUp();
    await leg.hangup();
    await leg.hangup();
    leg.carrierEnded();
    socket.receive({ event: 'stop', streamSid: STREAM_SID });
    socket.drop();
    expect(closed).toEqual(['local_hangup']);
    expect(socket.closeCode).toBe(1000);
  });

  it('frees its timer, its listeners and its socket at the end, and says nothing more', async () => {
    const { clock, socket, leg, audio } = setUp(30_000);
    socket.receive(mediaMessage(0));
    const sent = socket.sent.length;
    socket.receive({ event: 'stop', streamSid: STREAM_SID });
    leg.send('item', SPEECH);
    leg.mark('late');
    leg.clear();
    await clock.advance(60_000);
    expect(clock.pendingTimers).toBe(0);
    expect(leg.listenerCount()).toBe(0);
    expect(socket.sink).toBeNull();
    expect(socket.sent.length).toBe(sent);
    expect(audio).toEqual([SPEECH]);
  });

  it('gives a call up when Twilio stops reading, with a bounded buffer', () => {
    const { socket, leg, closed } = setUp();
    socket.bufferedAmount = MAX_BUFFERED_BYTES;
    leg.send('item', SPEECH);
    expect(closed).toEqual([]);
    socket.bufferedAmount = MAX_BUFFERED_BYTES + 1;
    leg.send('item', SPEECH);
    leg.send('item', SPEECH);
    expect(closed).toEqual(['backpressure']);
    expect(socket.closeCode).toBe(1013);
    expect(socket.sent.length).toBe(1);
  });

  it.each([
    ['a binary frame', new Uint8Array([1])],
    ['broken JSON', '{"event":'],
    ['a second start', JSON.stringify(startMessage())],
    ["another stream's message", JSON.stringify({ event: 'stop', streamSid: 'MZother' })],
  ])('closes as a protocol error on %s', (_, data) => {
    const { socket, closed } = setUp();
    socket.receiveRaw(data);
    expect(closed).toEqual(['protocol_error']);
    expect(socket.closeCode).toBe(1002);
  });

  it('stops in the middle of a gap when a listener hangs up', () => {
    const { socket, leg, audio } = setUp();
    leg.on('audio', (each) => {
      if (each === SILENCE) void leg.hangup();
    });
    socket.receive(mediaMessage(0));
    socket.receive(mediaMessage(1000));
    expect(audio).toEqual([SPEECH, SILENCE]);
  });

  it('says that it can neither dial digits nor transfer', async () => {
    const { leg } = setUp();
    await expect(leg.sendDtmf('1')).rejects.toMatchObject({ code: 'LEG_UNSUPPORTED' });
    await expect(leg.transfer('+15550100')).rejects.toMatchObject({ code: 'LEG_UNSUPPORTED' });
  });

  it('arms no timer per frame', () => {
    const { clock, socket } = setUp(30_000);
    for (let at = 0; at < 2000; at += 20) socket.receive(mediaMessage(at));
    expect(clock.pendingTimers).toBe(1);
  });
});
