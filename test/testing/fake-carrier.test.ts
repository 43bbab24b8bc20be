import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { fromSamples, PCMU_8K } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { FakeCarrier, FakeClock, tone } from '../../src/testing/index.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Json = Record<string, unknown>;
const SID = `MZ${'0'.repeat(31)}1`;

/** A started call in memory: the carrier, and the server's end. */
async function connect(options: { customParameters?: Record<string, string> } = {}) {
  const clock = new FakeClock();
  const { carrier, socket } = FakeCarrier.inMemory({ clock, ...options });
  const heard: Json[] = [];
  const closes: number[] = [];
  socket.listen({
    message: (data) => heard.push(JSON.parse(String(data))),
    closed: (code) => closes.push(code),
  });
  carrier.start();
  await clock.settle();
  const send = async (message: unknown) => {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    await clock.settle();
  };
  const media = (ms: number, byte = 0x10) =>
    send({
      event: 'media',
      streamSid: SID,
      media: { payload: Buffer.alloc(ms * 8, byte).toString('base64') },
    });
  const mark = (name: string) => send({ event: 'mark', streamSid: SID, mark: { name } });
  const clear = () => send({ event: 'clear', streamSid: SID });
  const of = (event: string) => heard.filter((each) => each.event === event);
  return { clock, carrier, socket, heard, closes, send, media, mark, clear, of };
}

describe('FakeCarrier says', () => {
  it('connected, then start with the parameters, numbers as text', async () => {
    const { heard } = await connect({ customParameters: { token: 'abc' } });

    expect(heard).toEqual([
      { event: 'connected', protocol: 'Call', version: '1.0.0' },
      {
        event: 'start',
        sequenceNumber: '1',
        streamSid: SID,
        start: {
          streamSid: SID,
          accountSid: `AC${'0'.repeat(31)}1`,
          callSid: `CA${'0'.repeat(31)}1`,
          tracks: ['inbound'],
          customParameters: { token: 'abc' },
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        },
      },
    ]);
  });

  it('a frame of 20 ms every 20 ms, silence unless it speaks', async () => {
    const { clock, carrier, of } = await connect();
    const speech = fromSamples(tone(50, 300, 8000).samples, PCMU_8K);
    await clock.advance(40);

    const spoken = carrier.speak(speech);
    await clock.advance(100);
    await spoken;

    const frames = of('media') as { media: { payload: string } & Json; sequenceNumber: string }[];
    expect(frames.map(({ media }) => media.timestamp)).toEqual(['0', '20', '40', '60', '80', '100', '120']);
    expect(frames.map(({ media }) => media.chunk)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    expect(frames.map(({ sequenceNumber }) => sequenceNumber)).toEqual(['2', '3', '4', '5', '6', '7', '8']);
    const bytes = frames.map(({ media }) => Buffer.from(media.payload, 'base64'));
    expect(bytes.every((each) => each.length === 160)).toBe(true);
    expect(Buffer.concat(bytes.slice(2, 5)).subarray(0, 400)).toEqual(Buffer.from(speech));
    expect(Buffer.concat(bytes.slice(2, 5)).subarray(400)).toEqual(Buffer.alloc(80, 0xff));
    expect(bytes[0]).toEqual(Buffer.alloc(160, 0xff));
  });

  it('keys, and stop before it hangs up', async () => {
    const { clock, carrier, of, closes, heard } = await connect();

    carrier.dtmf('5');
    await clock.advance(20);
    carrier.hangup();
    await clock.advance(1000);

    expect(of('dtmf')).toMatchObject([{ dtmf: { track: 'inbound_track', digit: '5' }, sequenceNumber: '2' }]);
    expect(heard.at(-1)).toMatchObject({ event: 'stop', stop: { callSid: carrier.callSid } });
    expect(closes).toEqual([1000]);
    expect(carrier.closeCode).toBe(1000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('nothing while it is on hold, and time goes on', async () => {
    const { clock, carrier, of } = await connect();

    await clock.advance(40);
    carrier.pauseMedia();
    await clock.advance(400);
    carrier.resumeMedia();
    await clock.advance(20);

    const frames = of('media') as { media: Json }[];
    expect(frames.map(({ media }) => [media.chunk, media.timestamp])).toEqual([
      ['1', '0'],
      ['2', '20'],
      ['3', '440'],
    ]);
  });

  it('nothing more once it is cut off', async () => {
    const { clock, carrier, closes, of } = await connect();

    carrier.reset();
    await clock.advance(100);

    expect(closes).toEqual([1006]);
    expect(carrier.closeCode).toBe(1006);
    expect(of('media')).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('FakeCarrier hears', () => {
  it('at real speed, what came in one burst, with the gaps', async () => {
    const { clock, carrier, media } = await connect();
    await clock.advance(100);

    await media(200, 0x10);
    expect(carrier.queuedMs).toBe(200);
    await clock.advance(500);
    await media(40, 0x20);
    await clock.advance(200);

    expect(carrier.heardSegments().map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [120, 320],
      [620, 660],
    ]);
    expect(carrier.heardSegments()[1]?.audio).toEqual(new Uint8Array(320).fill(0x20));
    const heard = carrier.heard();
    expect(heard.length).toBe(820 * 8);
    expect(heard[119 * 8]).toBe(0xff);
    expect(heard[120 * 8]).toBe(0x10);
    expect(heard[319 * 8]).toBe(0x10);
    expect(heard[320 * 8]).toBe(0xff);
    expect(carrier.heardSegments(300)).toHaveLength(1);
  });

  it('odd sizes without a seam', async () => {
    const { clock, carrier, send } = await connect();
    const sizes = [37, 5000, 1, 162];
    for (const size of sizes) {
      const payload = Buffer.alloc(size, 0x10).toString('base64');
      await send({ event: 'media', streamSid: SID, media: { payload } });
    }

    await clock.advance(2000);

    expect(carrier.heardSegments()).toHaveLength(1);
    expect(carrier.heardSegments()[0]?.audio).toEqual(new Uint8Array(5200).fill(0x10));
  });

  it('marks come back when everything before them has been heard, not before', async () => {
    const { clock, carrier, media, mark, of } = await connect();

    await media(100);
    await mark('a');
    await media(30);
    await mark('b');
    await mark('c');
    await clock.advance(100);
    expect(of('mark')).toEqual([]);
    await clock.advance(500);

    expect(of('mark').map((each) => (each.mark as Json).name)).toEqual(['a', 'b', 'c']);
    expect(carrier.echoed).toEqual([
      { name: 'a', atMs: 120, cleared: false },
      { name: 'b', atMs: 160, cleared: false },
      { name: 'c', atMs: 160, cleared: false },
    ]);
  });

  it('a mark with nothing in front of it comes back at once', async () => {
    const { mark, carrier, of } = await connect();

    await mark('idle');

    expect(of('mark')).toMatchObject([{ streamSid: SID, mark: { name: 'idle' } }]);
    expect(carrier.echoed).toEqual([{ name: 'idle', atMs: 0, cleared: false }]);
  });

  it('a mark sent while the last frame is being heard waits for its end', async () => {
    const { clock, media, mark, carrier } = await connect();
    await media(20);
    await clock.advance(25);

    await mark('late');
    expect(carrier.echoed).toEqual([]);
    await clock.advance(20);

    expect(carrier.echoed).toEqual([{ name: 'late', atMs: 40, cleared: false }]);
  });

  it('silence from the frame after a clear, and every outstanding mark at once', async () => {
    const { clock, carrier, media, mark, clear } = await connect();
    await media(1000);
    await mark('a');
    await media(1000);
    await mark('b');
    await clock.advance(400);

    await clear();
    await clock.advance(2000);

    expect(carrier.echoed).toEqual([
      { name: 'a', atMs: 400, cleared: true },
      { name: 'b', atMs: 400, cleared: true },
    ]);
    expect(carrier.heardSegments().map(({ startMs, endMs }) => [startMs, endMs])).toEqual([[20, 420]]);
    expect(carrier.queuedMs).toBe(0);
  });

  it('nothing while it does not read, and then everything', async () => {
    const { clock, carrier, socket, media } = await connect();
    carrier.stallReading();
    await media(200);
    await clock.advance(400);
    expect(socket.bufferedAmount).toBeGreaterThan(0);
    expect(carrier.heardSegments()).toEqual([]);

    carrier.resumeReading();
    await clock.advance(400);

    expect(socket.bufferedAmount).toBe(0);
    expect(carrier.heardSegments().map(({ startMs, endMs }) => [startMs, endMs])).toEqual([[420, 620]]);
  });
});

describe('FakeCarrier plays a part', () => {
  it('waits for the agent to speak, to finish, and for time to pass', async () => {
    const { clock, carrier, media } = await connect();
    const log: string[] = [];
    const script = async () => {
      await carrier.whenAgentSpeaks();
      log.push(`speaks ${carrier.nowMs}`);
      await carrier.whenAgentIdle(300);
      log.push(`idle ${carrier.nowMs}`);
      await carrier.wait(150);
      log.push(`waited ${carrier.nowMs}`);
      await carrier.speak(new Uint8Array(1600).fill(0x30));
      log.push(`spoke ${carrier.nowMs}`);
    };
    const played = script();
    await clock.advance(200);
    await media(500);

    await clock.drive(played);

    expect(log).toEqual(['speaks 220', 'idle 1020', 'waited 1180', 'spoke 1380']);
  });

  it('lets go of everything it waits for when the call ends', async () => {
    const { clock, carrier, socket } = await connect();
    const waits = [carrier.whenAgentSpeaks(), carrier.whenAgentIdle(), carrier.wait(60_000)];

    socket.close(1000);
    await clock.advance(20);

    await expect(Promise.all(waits)).resolves.toHaveLength(3);
    expect(carrier.closeCode).toBe(1000);
  });

  it('stops in the middle of a word', async () => {
    const { clock, carrier, of } = await connect();
    void carrier.speak(new Uint8Array(8000).fill(0x30));
    await clock.advance(100);
    expect(carrier.isSpeaking).toBe(true);

    carrier.stopSpeaking();
    await clock.advance(40);

    const last = of('media').at(-1) as { media: { payload: string } };
    expect(Buffer.from(last.media.payload, 'base64')).toEqual(Buffer.alloc(160, 0xff));
  });
});

describe('FakeCarrier refuses, as Twilio would', () => {
  const payload = Buffer.alloc(160).toString('base64');
  it.each<[string, unknown, number]>([
    ['text that is not JSON', 'media', 31924],
    ['JSON that is no object', '7', 31924],
    ['an unknown event', { event: 'playAudio', streamSid: SID }, 31924],
    ['a message without an event', { streamSid: SID }, 31924],
    ['another stream', { event: 'media', streamSid: 'MZ2', media: { payload } }, 31924],
    ['a message without a stream', { event: 'clear' }, 31924],
    ['media without a payload', { event: 'media', streamSid: SID, media: {} }, 31924],
    ['an empty payload', { event: 'media', streamSid: SID, media: { payload: '' } }, 31924],
    ['a payload that is not base64', { event: 'media', streamSid: SID, media: { payload: '***=' } }, 31924],
    [
      'a WAV file as payload',
      { event: 'media', streamSid: SID, media: { payload: Buffer.from('RIFF....WAVE').toString('base64') } },
      31924,
    ],
    ['a mark without a name', { event: 'mark', streamSid: SID, mark: {} }, 31924],
    ['a mark whose name is a number', { event: 'mark', streamSid: SID, mark: { name: 5 } }, 31924],
    ['a field it does not know', { event: 'clear', streamSid: SID, item: 'x' }, 31924],
  ])('%s', async (_what, message, code) => {
    const { clock, carrier, send } = await connect();

    await send(message);
    await clock.advance(100);

    expect(carrier.violations).toMatchObject([{ code, atMs: 0 }]);
    expect(carrier.received).toEqual([]);
    expect(carrier.heardSegments()).toEqual([]);
    expect(() => carrier.assertClean()).toThrow(String(code));
  });

  it('more than ten minutes of audio at once', async () => {
    const { carrier, media } = await connect();

    for (let n = 0; n < 11; n += 1) await media(60_000);

    expect(carrier.violations).toMatchObject([{ code: 31924 }]);
    expect(carrier.queuedMs).toBe(600_000);
  });

  it('nothing of a call in order', async () => {
    const { clock, carrier, media, mark, clear } = await connect();
    await media(100);
    await mark('a');
    await clear();
    await clock.advance(100);

    expect(() => carrier.assertClean()).not.toThrow();
    expect(carrier.received.map(({ event }) => event)).toEqual(['media', 'mark', 'clear']);
  });
});

describe('FakeCarrier over a real WebSocket', () => {
  it('talks to a running server, in real time', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    closers.push(() => server.close());
    await new Promise<void>((resolve) => server.on('listening', resolve));
    const heard: Json[] = [];
    server.on('connection', (socket) => {
      socket.on('message', (data) => {
        const message = JSON.parse(String(data)) as Json;
        heard.push(message);
        if (message.event !== 'start') return;
        socket.send(Buffer.from([1, 2, 3]));
        const payload = Buffer.alloc(320, 0x10).toString('base64');
        socket.send(JSON.stringify({ event: 'media', streamSid: message.streamSid, media: { payload } }));
        socket.send(JSON.stringify({ event: 'mark', streamSid: message.streamSid, mark: { name: 'end' } }));
      });
    });
    const { port } = server.address() as { port: number };

    const carrier = await FakeCarrier.connect(`ws://127.0.0.1:${port}/media`, { clock: realClock });
    carrier.start();
    await carrier.whenAgentIdle(60);
    carrier.hangup();
    while (!carrier.isClosed) await new Promise((resolve) => setImmediate(resolve));

    expect(carrier.violations).toMatchObject([{ code: 31950 }]);
    expect(carrier.heardSegments()[0]?.audio).toEqual(new Uint8Array(320).fill(0x10));
    expect(carrier.echoed).toMatchObject([{ name: 'end', cleared: false }]);
    expect(heard.at(-1)?.event).toBe('stop');
    expect(heard.filter(({ event }) => event === 'media').length).toBeGreaterThan(3);
  });

  it('says so when nobody answers', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, verifyClient: () => false });
    closers.push(() => server.close());
    await new Promise<void>((resolve) => server.on('listening', resolve));
    const { port } = server.address() as { port: number };

    await expect(FakeCarrier.connect(`ws://127.0.0.1:${port}`, { clock: realClock })).rejects.toThrow('401');
  });
});
