/**
 * A process of a realtime model that never stops speaking: OpenAI's GA dialect, 20 ms of µ-law every 20 ms, answers of
 * half a minute one after the other, with the transcripts that belong to them. Every payload carries the time it left.
 *
 * @module
 */

import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Histogram } from '../lib/histogram.ts';
import { nowUs } from '../lib/monotonic.ts';
import { acceptKey, FrameReader, frame, OPCODE } from './frames.ts';
import { Grid } from './grid.ts';
import { BLANK_PAYLOAD, Received, readStamp, writeStamp } from './stamp.ts';

/** Frames of one answer. */
const ANSWER_FRAMES = 1500;
/** A piece of transcript comes with every so many frames. */
const WORD_EVERY = 16;

/** Bytes that may wait in one socket for the server: ten seconds of its frames. */
const MAX_WAITING_BYTES = 200_000;

interface Session {
  readonly index: number;
  readonly socket: Socket;
  delta: Buffer;
  payloadAt: number;
  sent: number;
  answers: number;
  speaks: boolean;
}

const latency = new Histogram();
const received = new Received();
let unstamped = 0;
let refused = 0;
let opened = 0;

/** It listens and says nothing. */
const isSilent = process.argv[2] === 'silent';

const AUDIO_MARK = Buffer.from('"audio":"');

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
  const at = { response_id, item_id, output_index: 0, content_index: 0 };
  send(session, { type: 'response.content_part.added', ...at, part: { type: 'audio', transcript: '' } });
  const text = JSON.stringify({
    type: 'response.output_audio.delta',
    event_id: `event_audio_${response_id}`,
    ...at,
    delta: BLANK_PAYLOAD,
  });
  session.delta = frame(text, false);
  session.payloadAt = session.delta.indexOf('"delta":"') + 9;
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
  if (session.socket.writableLength > MAX_WAITING_BYTES) {
    refused += 1;
    return;
  }
  const place = session.sent % ANSWER_FRAMES;
  if (place === 0) {
    if (session.sent > 0) end(session);
    begin(session);
  }
  if (place % WORD_EVERY === 0) {
    const at = { ...ids(session), output_index: 0, content_index: 0 };
    send(session, { type: 'response.output_audio_transcript.delta', ...at, delta: 'word ' });
  }
  const copy = Buffer.from(session.delta);
  writeStamp(copy, session.payloadAt, nowUs(), session.sent);
  session.sent += 1;
  session.socket.write(copy);
}

const grid = new Grid<Session>(speak);

function onMessage(session: Session, opcode: number, payload: Buffer): void {
  if (opcode === OPCODE.ping) {
    session.socket.write(frame(payload, false, OPCODE.pong));
    return;
  }
  if (opcode === OPCODE.close) session.socket.end();
  if (opcode !== OPCODE.text) return;
  const at = payload.indexOf(AUDIO_MARK);
  if (at < 0 || at > 200) {
    onControl(session, payload.toString());
    return;
  }
  if (!session.speaks) {
    // The caller is on the line.
    session.speaks = true;
    if (!isSilent) grid.add(session);
  }
  const stamp = readStamp(payload, at + AUDIO_MARK.length);
  if (!stamp || stamp.timeUs === 0) {
    unstamped += 1;
    return;
  }
  latency.add(nowUs() - stamp.timeUs);
  received.add(session.index, stamp.sequence);
}

function onControl(session: Session, text: string): void {
  const event = JSON.parse(text) as { type: string; session?: Record<string, unknown> };
  if (event.type !== 'session.update') return;
  send(session, { type: 'session.updated', session: { ...sessionOf(session), ...event.session } });
}

const sessionOf = ({ index }: Session) => ({
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
  const session: Session = {
    index: opened++,
    socket,
    delta: Buffer.alloc(0),
    payloadAt: 0,
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

process.on('message', (question: { ask?: string }) => {
  if (question.ask === undefined) return;
  let value: unknown = null;
  if (question.ask === 'reset') {
    latency.reset();
    received.reset();
    unstamped = refused = 0;
  } else if (question.ask === 'read') value = { up: latency.read(), lost: received.lost, unstamped, refused };
  process.send?.({ reply: { of: question.ask, value } });
});
