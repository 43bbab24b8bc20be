/** Whatever arrives, in whatever pieces: what is read in front of `ws` is what `ws` alone would have told. */

import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { MAX_SHORT_BYTES, readTextFrames, TextFrameReader } from '../src/text-frame-reader.ts';
import { TextFrameWriter } from '../src/text-frames.ts';

interface FrameParts {
  readonly opcode: number;
  readonly body: Buffer;
  readonly final?: boolean;
  readonly masked?: boolean;
  readonly rsv?: number;
}

function frame({ opcode, body, final = true, masked = true, rsv = 0 }: FrameParts): Buffer {
  const size = body.length;
  const length =
    size < 126
      ? Buffer.from([size])
      : size < 65_536
        ? Buffer.from([126, size >> 8, size & 0xff])
        : Buffer.concat([
            Buffer.from([127, 0, 0, 0, 0]),
            Buffer.from([size >>> 24, (size >> 16) & 0xff, (size >> 8) & 0xff, size & 0xff]),
          ]);
  length[0] = length[0]! | (masked ? 0x80 : 0);
  const key = Buffer.from([0x12, 0xf3, 0x00, 0x7e]);
  const hidden = masked ? body.map((byte, i) => byte ^ key[i % 4]!) : body;
  return Buffer.concat([
    Buffer.from([(final ? 0x80 : 0) | rsv | opcode]),
    length,
    masked ? key : Buffer.alloc(0),
    hidden,
  ]);
}

class Wire extends Duplex {
  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }
  override _read(): void {}
  setTimeout(): void {}
  setNoDelay(): void {}
}

type Told = { text: string } | { binary: string } | { closed: number } | { error: true };

/** An open `ws` of a server on an in-memory stream. */
async function opened(): Promise<{ ws: WebSocket; wire: Wire }> {
  const wire = new Wire();
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 100_000 });
  const request = {
    method: 'GET',
    url: '/',
    headers: {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  };
  return new Promise((resolve) => {
    server.handleUpgrade(request as never, wire as never, Buffer.alloc(0), (ws) => resolve({ ws, wire }));
  });
}

/** What is told of these bytes, in this order. */
async function tell(chunks: readonly Buffer[], inFront: boolean): Promise<Told[]> {
  const { ws, wire } = await opened();
  const told: Told[] = [];
  ws.on('message', (data, isBinary) => {
    const text = (data as Buffer).toString(isBinary ? 'base64' : 'utf8');
    told.push(isBinary ? { binary: text } : { text });
  });
  ws.on('error', () => told.push({ error: true }));
  ws.on('close', (code) => told.push({ closed: code }));
  if (inFront) expect(readTextFrames(ws, wire, true, (text) => told.push({ text }))).toBe(true);
  for (const chunk of chunks) {
    wire.push(Buffer.from(chunk));
    await new Promise((resolve) => setImmediate(resolve));
  }
  wire.push(null);
  await new Promise((resolve) => setImmediate(resolve));
  wire.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  return told;
}

const ascii = fc.string({ maxLength: 300, unit: 'grapheme-ascii' }).map((text) => Buffer.from(text));
const body = fc.oneof(
  ascii,
  fc.string({ maxLength: 40, unit: 'grapheme' }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom(126, 127, MAX_SHORT_BYTES, MAX_SHORT_BYTES + 1, 70_000)
    .map((size) => Buffer.alloc(size, 'x')),
);
const usual = fc.record({ opcode: fc.constant(1), body: ascii });
const anything = fc.record({
  opcode: fc.constantFrom(0, 1, 1, 1, 2, 3, 8, 9, 10, 11),
  body,
  final: fc.constantFrom(true, true, true, false),
  masked: fc.constantFrom(true, true, true, true, true, true, true, false),
  rsv: fc.constantFrom(0, 0, 0, 0, 0, 0, 0x40, 0x10),
});
/** Fragments, with a ping between them. */
const fragments = fc.tuple(ascii, ascii).map(([one, two]) => [
  { opcode: 1, body: one, final: false },
  { opcode: 9, body: Buffer.from('p') },
  { opcode: 0, body: two },
]);
const conversation = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: usual.map((each) => [each]) },
      { weight: 2, arbitrary: fragments },
      { weight: 1, arbitrary: anything.map((each) => [each]) },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.flat());

/** In pieces, most of them whole reads of a few frames. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length]
    .map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end))
    .filter((each) => each.length > 0);
}

describe('what is read in front of ws', () => {
  it('is what ws would have told', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.array(fc.nat(), { maxLength: 6 }), async (frames, places) => {
        const chunks = cut(Buffer.concat(frames.map(frame)), places);
        const alone = await tell(chunks, false);
        const front = await tell(chunks, true);

        // `ws` tells an error a moment after it found it: behind a split text that is no UTF-8, some may get through.
        const until = alone.findIndex((each) => 'error' in each);
        if (until < 0) expect(front).toEqual(alone);
        else
          expect([front.slice(0, until), front.slice(-2)]).toEqual([alone.slice(0, until), alone.slice(-2)]);
      }),
      { numRuns: 600 },
    );
  });

  it('goes past ws when it is a whole short text, and else not', () => {
    const read: string[] = [];
    const passed: Buffer[] = [];
    const reader = new TextFrameReader(
      true,
      (text) => read.push(text),
      (bytes) => passed.push(bytes),
    );
    const short = frame({ opcode: 1, body: Buffer.from('{"event":"media"}') });
    const ping = frame({ opcode: 9, body: Buffer.from('?') });
    const accented = frame({ opcode: 1, body: Buffer.from('é') });

    reader.push(Buffer.concat([short, ping, short, accented, short]));

    expect(read).toEqual(Array(3).fill('{"event":"media"}'));
    expect(passed).toEqual([ping, accented]);
  });

  it('is nobody’s once ws has failed', async () => {
    const text = frame({ opcode: 1, body: Buffer.from('hello') });
    const wrong = frame({ opcode: 1, body: Buffer.from([0xff, 0xfe]) });

    const told = await tell([text, wrong, text, text], true);

    expect(told).toEqual([{ text: 'hello' }, { error: true }, { closed: 1006 }]);
  });

  it('stays with ws when somebody else listens to the stream', async () => {
    const { ws, wire } = await opened();
    wire.on('data', () => {});

    expect(readTextFrames(ws, wire, true, () => {})).toBe(false);
    ws.terminate();
  });

  it('has its answers leave in one write', () => {
    const writes: string[] = [];
    const out = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        writes.push(String(chunk));
        done();
      },
    });
    const writer = new TextFrameWriter(out, false);
    const reader = new TextFrameReader(
      true,
      (text) => writer.send(text),
      () => {},
    );
    const one = frame({ opcode: 1, body: Buffer.from('a') });

    reader.push(Buffer.concat([one, one, one]));

    expect(writes).toEqual(['\x81\x01a'.repeat(3)].map((each) => Buffer.from(each, 'latin1').toString()));
  });
});
