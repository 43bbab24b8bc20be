/**
 * A process of a realtime model that speaks in bursts of tone (`bursts.ts`), all the time: the load of `relay/model.ts`,
 * in the format that the session asks for (PCM at 24 kHz unless it wants µ-law), without stamps.
 *
 * @module
 */

import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { decodeG711, encodeG711 } from '../../src/audio/index.ts';
import { nowUs } from '../lib/monotonic.ts';
import { acceptKey, FrameReader, frame, OPCODE } from '../relay/frames.ts';
import { Grid } from '../relay/grid.ts';
import { BurstListener, beginsBurst, burstFrames, type Heard } from './bursts.ts';

/** Frames of one answer. */
const ANSWER_FRAMES = 1500;
/** A piece of transcript comes with every so many frames. */
const WORD_EVERY = 16;
/** Bytes that may wait in one socket for the server: ten seconds of its frames. */
const MAX_WAITING_BYTES = 750_000;
const MODEL_RATE = 24_000;

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);
const FRAMES = {
  pcm: burstFrames(MODEL_RATE).map((samples) => base64(bytesOf(samples))),
  pcmu: burstFrames(8000).map((samples) => base64(encodeG711(samples, 'pcmu'))),
};

type Format = keyof typeof FRAMES;

interface Session {
  readonly index: number;
  readonly socket: Socket;
  format: { readonly in: Format; readonly out: Format };
  listener: BurstListener;
  readonly heard: Heard[];
  readonly sentUs: number[];
  sent: number;
  answers: number;
  speaks: boolean;
}

/** Sessions that a caller is heard in, in the order in which they came on the line. */
const onTheLine: Session[] = [];
let opened = 0;
let refused = 0;

const AUDIO_MARK = Buffer.from('"audio"');
const QUOTE = 0x22;

function send(session: Session, event: Record<string, unknown>): void {
  session.socket.write(frame(JSON.stringify({ event_id: `event_${session.sent}`, ...event }), false));
}

const ids = ({ index, answers }: Session) => ({
  response_id: `resp_${index}_${answers}`,
  item_id: `item_${index}_${answers}`,
});

function begin(session: Session): void {
  session.answers += 1;
  const { response_id, item_id } = ids(session);
  const said = `said_${session.index}_${session.answers}`;
  send(session, { type: 'input_audio_buffer.committed', item_id: said, previous_item_id: null });
  send(session, {
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: said,
    content_index: 0,
    transcript: 'And what happened after that?',
  });
  const response = { object: 'realtime.response', id: response_id, status: 'in_progress', output: [] };
  send(session, { type: 'response.created', response });
  const item = { id: item_id, object: 'realtime.item', type: 'message', role: 'assistant', content: [] };
  send(session, { type: 'response.output_item.added', response_id, output_index: 0, item });
  send(session, { type: 'conversation.item.added', previous_item_id: said, item });
  const at = { response_id, item_id, output_index: 0, content_index: 0 };
  send(session, { type: 'response.content_part.added', ...at, part: { type: 'audio', transcript: '' } });
}

function end(session: Session): void {
  const { response_id, item_id } = ids(session);
  const at = { response_id, item_id, output_index: 0, content_index: 0 };
  send(session, { type: 'response.output_audio.done', ...at });
  send(session, { type: 'response.output_audio_transcript.done', ...at, transcript: 'word '.repeat(94) });
  const item = { id: item_id, type: 'message', role: 'assistant', status: 'completed', content: [] };
  send(session, { type: 'response.output_item.done', response_id, output_index: 0, item });
  const usage = { total_tokens: 700, input_tokens: 100, output_tokens: 600 };
  const response = {
    object: 'realtime.response',
    id: response_id,
    status: 'completed',
    output: [item],
    usage,
  };
  send(session, { type: 'response.done', response });
}

function speak(session: Session): void {
  const { socket, sent, format } = session;
  if (socket.writableLength > MAX_WAITING_BYTES) {
    refused += 1;
    return;
  }
  if (sent % ANSWER_FRAMES === 0) {
    if (sent > 0) end(session);
    begin(session);
  }
  const at = { ...ids(session), output_index: 0, content_index: 0 };
  if (sent % WORD_EVERY === 0)
    send(session, { type: 'response.output_audio_transcript.delta', ...at, delta: 'word ' });
  const frames = FRAMES[format.out];
  const delta = frames[sent % frames.length] ?? '';
  if (beginsBurst(sent)) session.sentUs.push(nowUs());
  session.sent += 1;
  send(session, { type: 'response.output_audio.delta', ...at, delta });
}

const grid = new Grid<Session>(speak);

function onMessage(session: Session, opcode: number, payload: Buffer): void {
  if (opcode === OPCODE.ping) {
    session.socket.write(frame(payload, false, OPCODE.pong));
    return;
  }
  if (opcode === OPCODE.close) session.socket.end();
  if (opcode !== OPCODE.text) return;
  const at = payload.subarray(0, 200).indexOf(AUDIO_MARK);
  if (at < 0 || payload.subarray(0, at).indexOf('append') < 0) {
    onControl(session, payload.toString());
    return;
  }
  const arrivedUs = nowUs();
  if (!session.speaks) {
    // The caller is on the line.
    session.speaks = true;
    onTheLine.push(session);
    grid.add(session);
  }
  const start = payload.indexOf(QUOTE, at + AUDIO_MARK.length) + 1;
  const bytes = Buffer.from(payload.toString('latin1', start, payload.indexOf(QUOTE, start)), 'base64');
  const samples =
    session.format.in === 'pcmu'
      ? decodeG711(bytes, 'pcmu')
      : new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  session.listener.push(samples, arrivedUs);
}

interface AudioFormats {
  readonly audio?: {
    readonly [way in 'input' | 'output']?: { readonly format?: { readonly type?: string } };
  };
}

function onControl(session: Session, text: string): void {
  const event = JSON.parse(text) as { type: string; session?: AudioFormats };
  if (event.type !== 'session.update') return;
  const { input, output } = event.session?.audio ?? {};
  // What an update does not name stays as it was.
  const named = (type: string | undefined, present: Format): Format =>
    type === undefined ? present : type === 'audio/pcmu' ? 'pcmu' : 'pcm';
  const present = session.format;
  session.format = {
    in: named(input?.format?.type, present.in),
    out: named(output?.format?.type, present.out),
  };
  if (session.format.in !== present.in) session.listener = listener(session.heard, session.format.in);
  send(session, { type: 'session.updated', session: { ...sessionOf(session), ...event.session } });
}

const listener = (heard: Heard[], format: Format) =>
  new BurstListener(format === 'pcmu' ? 8000 : MODEL_RATE, (each) => heard.push(each));

const sessionOf = ({ index }: { readonly index: number }) => ({
  id: `sess_${index}`,
  object: 'realtime.session',
  type: 'realtime',
  model: 'gpt-realtime-2.1',
  output_modalities: ['audio'],
  tools: [],
  tool_choice: 'auto',
});

const server = createServer();
server.on('upgrade', (request, stream) => {
  const socket = stream as Socket;
  const accept = acceptKey(request.headers['sec-websocket-key'] ?? '');
  // Some clients ask for a subprotocol and go away without one.
  const asked = request.headers['sec-websocket-protocol']?.split(',')[0]?.trim();
  const protocol = asked ? `Sec-WebSocket-Protocol: ${asked}\r\n` : '';
  socket.setNoDelay(true);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${accept}\r\n${protocol}\r\n`,
  );
  const heard: Heard[] = [];
  const session: Session = {
    index: opened++,
    socket,
    format: { in: 'pcm', out: 'pcm' },
    listener: listener(heard, 'pcm'),
    heard,
    sentUs: [],
    sent: 0,
    answers: 0,
    speaks: false,
  };
  const reader = new FrameReader((opcode, payload) => onMessage(session, opcode, payload));
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  socket.on('error', () => {});
  socket.on('close', () => grid.remove(session));
  send(session, { type: 'session.created', session: sessionOf(session) });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ ready: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/realtime` });
});

function answer(ask: string): unknown {
  if (ask === 'onTheLine') return onTheLine.length;
  if (ask === 'read')
    return {
      refused,
      readUs: nowUs(),
      ends: onTheLine.map(({ sentUs, heard, sent, listener: { samples }, format }) => ({
        sentUs,
        heard,
        sentMs: sent * 20,
        heardMs: (samples * 1000) / (format.in === 'pcmu' ? 8000 : MODEL_RATE),
      })),
    };
  return null;
}

process.on('message', ({ ask }: { ask?: string }) => {
  if (ask !== undefined) process.send?.({ reply: { of: ask, value: answer(ask) } });
});
