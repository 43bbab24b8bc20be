import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { TextFrameWriter, textFrame } from '../src/text-frames.ts';

/** Reads one frame as RFC 6455 has it, from its first byte. */
function read(frame: Buffer): { text: string; masked: boolean; size: number } {
  expect(frame[0]).toBe(0x81);
  const second = frame[1]!;
  const masked = (second & 0x80) !== 0;
  let length = second & 0x7f;
  let at = 2;
  if (length === 126) {
    length = frame.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    length = Number(frame.readBigUInt64BE(2));
    at = 10;
  }
  const key = masked ? frame.subarray(at, at + 4) : Buffer.alloc(4);
  if (masked) at += 4;
  const body = Buffer.from(frame.subarray(at, at + length)).map((byte, i) => byte ^ key[i % 4]!);
  return { text: body.toString(), masked, size: at + length };
}

class Sink extends Duplex {
  readonly writes: Buffer[] = [];
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(chunk);
    done();
  }
  override _read(): void {}
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('text frames', () => {
  it.each([0, 1, 3, 125, 126, 127, 300, 65_535, 65_536])(
    'of %i bytes come back as they were, masked or not',
    (length) => {
      const text = 'a'.repeat(length);

      const plain = textFrame(text, false);
      const masked = textFrame(text, true);

      expect(read(plain)).toEqual({ text, masked: false, size: plain.length });
      expect(read(masked)).toEqual({ text, masked: true, size: masked.length });
    },
  );

  it('count bytes and not characters', () => {
    const text = 'Grüße, 通話 🙂 '.repeat(12);

    expect(read(textFrame(text, true)).text).toBe(text);
  });

  it.each([0, 125, 126, 70_000])('of %i bytes known to be ASCII are no different', (length) => {
    const text = 'a'.repeat(length);

    expect(textFrame(text, false, true)).toEqual(textFrame(text, false));
    expect(read(textFrame(text, true, true)).text).toBe(text);
  });

  it('of a client have a key of their own each', () => {
    const keys = new Set(
      Array.from({ length: 5000 }, () => textFrame('x', true).subarray(2, 6).toString('hex')),
    );

    expect(keys.size).toBeGreaterThan(4990);
  });
});

describe('a writer of text frames', () => {
  it('writes what was sent in one turn at once, in order', async () => {
    const sink = new Sink();
    const writer = new TextFrameWriter(sink, false);

    writer.send('one');
    writer.send('two');

    expect(sink.writes).toEqual([]);
    expect(writer.pendingBytes).toBe(10);
    await turn();
    expect(writer.pendingBytes).toBe(0);
    expect(sink.writes).toEqual([Buffer.concat([textFrame('one', false), textFrame('two', false)])]);
  });

  it('writes what is sent in the next turn too', async () => {
    const sink = new Sink();
    const writer = new TextFrameWriter(sink, false);
    writer.send('one');
    await turn();

    writer.send('two');
    await turn();

    expect(sink.writes.map((each) => read(each).text)).toEqual(['one', 'two']);
  });

  it('hands over before its turn ends when it is told to, and nothing twice', async () => {
    const sink = new Sink();
    const writer = new TextFrameWriter(sink, false);
    writer.send('one');

    writer.flush();
    sink.write('the closing handshake');
    await turn();

    expect(sink.writes.map(String)).toEqual([textFrame('one', false).toString(), 'the closing handshake']);
  });

  it('drops what comes after the socket is gone', async () => {
    const sink = new Sink();
    const writer = new TextFrameWriter(sink, false);
    sink.destroy();

    writer.send('one');
    await turn();

    expect(sink.writes).toEqual([]);
    expect(writer.pendingBytes).toBe(0);
  });

  it('is not held up by another one whose socket is gone', async () => {
    const [gone, here] = [new Sink(), new Sink()];
    gone.destroy();

    new TextFrameWriter(gone, false).send('one');
    new TextFrameWriter(here, false).send('two');
    await turn();

    expect(here.writes).toHaveLength(1);
  });
});
