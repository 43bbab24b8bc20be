import type { TextSocket, TextSocketSink } from '../../../src/leg/index.ts';

/** The leg's end of a socket whose other end is the test. */
export class MemorySocket implements TextSocket {
  bufferedAmount = 0;
  readonly sent: string[] = [];
  closeCode: number | null = null;
  sink: TextSocketSink | null = null;

  listen(sink: TextSocketSink | null): void {
    this.sink = sink;
  }

  send(text: string, isAscii = false): void {
    // The real one would write half of it.
    if (isAscii && Buffer.byteLength(text) !== text.length) throw new Error('It is not ASCII.');
    this.sent.push(text);
  }

  close(code?: number): void {
    this.closeCode ??= code ?? 1005;
  }

  /** What we sent, as JSON. */
  get messages(): Record<string, unknown>[] {
    return this.sent.map((text) => JSON.parse(text) as Record<string, unknown>);
  }

  receive(message: object): void {
    this.sink?.message(JSON.stringify(message));
  }

  receiveRaw(data: string | Uint8Array): void {
    this.sink?.message(data);
  }

  drop(code = 1006): void {
    this.sink?.closed(code);
  }
}

export const STREAM_SID = 'MZ00000000000000000000000000000001';
export const CALL_SID = 'CA00000000000000000000000000000001';

export const connected = { event: 'connected', protocol: 'Call', version: '1.0.0' };

export function startMessage(customParameters: Record<string, string> = {}) {
  return {
    event: 'start',
    sequenceNumber: '1',
    streamSid: STREAM_SID,
    start: {
      streamSid: STREAM_SID,
      accountSid: 'AC00000000000000000000000000000001',
      callSid: CALL_SID,
      tracks: ['inbound'],
      customParameters,
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    },
  };
}

/** One inbound frame of 20 ms whose bytes all are `byte`. */
export function mediaMessage(timestampMs: number, byte = 0x7f, track = 'inbound') {
  return {
    event: 'media',
    sequenceNumber: '2',
    streamSid: STREAM_SID,
    media: { track, chunk: '1', timestamp: String(timestampMs), payload: frame(byte) },
  };
}

export function frame(byte: number): string {
  return Buffer.alloc(160, byte).toString('base64');
}
