/**
 * A process of callers who speak Twilio's dialect: 20 ms of sound up all the time, marks sent back once what is before
 * them has been played. Every payload carries the time it left.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { dialWebhook } from '../../src/testing/carrier/dial.ts';
import { Histogram } from '../lib/histogram.ts';
import { nowUs } from '../lib/monotonic.ts';
import { FrameReader, frame, OPCODE } from './frames.ts';
import { Grid } from './grid.ts';
import { BLANK_PAYLOAD, Received, readStamp, STAMP_CHARS, writeStamp } from './stamp.ts';

/** Where calls go: a webhook that answers with TwiML, or the stream's address itself. */
export type DialTarget =
  | { readonly webhook: string; readonly authToken: string }
  | { readonly stream: string };

/** Digits of `timestamp`, `chunk` and `sequenceNumber`, which grow; here they have one length. */
const COUNT_CHARS = 9;
const COUNTED = '0'.repeat(COUNT_CHARS);

/** Bytes that may wait in one socket for the server: ten seconds of its frames. */
const MAX_WAITING_BYTES = 160_000;

interface Call {
  readonly index: number;
  readonly socket: Socket;
  readonly streamSid: string;
  readonly media: Buffer;
  readonly at: { readonly payload: number; readonly counts: readonly number[]; readonly timestamp: number };
  sent: number;
  /** When all that was received will have been played, in ms. */
  playEnd: number;
  marks: { dueAt: number; name: string }[];
}

const latency = new Histogram();
const received = new Received();
const calls = new Map<number, Call>();
let unstamped = 0;
let messages = 0;
let clears = 0;
let broken = 0;
let refused = 0;

const PAYLOAD_MARK = Buffer.from('"payload":"');
const NAME_MARK = /"name":"([^"]*)"/;

function onMessage(call: Call, opcode: number, payload: Buffer): void {
  if (opcode === OPCODE.ping) {
    call.socket.write(frame(payload, true, OPCODE.pong));
    return;
  }
  if (opcode !== OPCODE.text) return;
  messages += 1;
  const at = payload.indexOf(PAYLOAD_MARK);
  if (at < 0) {
    onControl(call, payload.toString());
    return;
  }
  const start = at + PAYLOAD_MARK.length;
  const stamp = readStamp(payload, start);
  const now = performance.now();
  const end = payload.indexOf(0x22, start);
  call.playEnd = Math.max(call.playEnd, now) + Math.floor(((end - start) * 3) / 4) / 8;
  if (!stamp || stamp.timeUs === 0) {
    unstamped += 1;
    return;
  }
  latency.add(nowUs() - stamp.timeUs);
  received.add(call.index, stamp.sequence);
}

function onControl(call: Call, text: string): void {
  if (text.includes('"mark"')) {
    const name = NAME_MARK.exec(text)?.[1];
    if (name !== undefined) call.marks.push({ dueAt: Math.max(call.playEnd, performance.now()), name });
  } else if (text.includes('"clear"')) {
    clears += 1;
    for (const mark of call.marks) mark.dueAt = 0;
    call.playEnd = 0;
  }
}

function sendMedia(call: Call): void {
  // A server that does not keep up is not fed without end: what it would never get to is lost here, and counted.
  if (call.socket.writableLength > MAX_WAITING_BYTES) {
    refused += 1;
    return;
  }
  const copy = Buffer.from(call.media);
  const count = String(call.sent + 1).padStart(COUNT_CHARS, '0');
  // Leading zeros are no JSON numbers, and all of these are strings in Twilio's dialect.
  for (const at of call.at.counts) copy.write(count, at, 'latin1');
  copy.write(String(call.sent * 20).padStart(COUNT_CHARS, '0'), call.at.timestamp, 'latin1');
  writeStamp(copy, call.at.payload, nowUs(), call.sent);
  call.sent += 1;
  call.socket.write(copy);
}

function playMarks(now: number): void {
  for (const call of calls.values()) {
    while ((call.marks[0]?.dueAt ?? Number.POSITIVE_INFINITY) <= now) {
      const mark = call.marks.shift();
      const text = JSON.stringify({
        event: 'mark',
        sequenceNumber: String(call.sent),
        streamSid: call.streamSid,
        mark: { name: mark?.name },
      });
      call.socket.write(frame(text, true));
    }
  }
}

const grid = new Grid<Call>(sendMedia, playMarks);

function mediaTemplate(streamSid: string): Pick<Call, 'media' | 'at'> {
  const text =
    `{"event":"media","sequenceNumber":"${COUNTED}","media":{"track":"inbound","chunk":"${COUNTED}",` +
    `"timestamp":"${COUNTED}","payload":"${BLANK_PAYLOAD}"},"streamSid":"${streamSid}"}`;
  const media = frame(text, true);
  const after = (name: string) => media.indexOf(`"${name}":"`) + name.length + 4;
  return {
    media,
    at: {
      payload: after('payload'),
      counts: [after('sequenceNumber'), after('chunk')],
      timestamp: after('timestamp'),
    },
  };
}

async function openStream(
  url: string,
  headers: Record<string, string>,
): Promise<{ socket: Socket; head: Buffer }> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const upgrade = request({
      hostname,
      port,
      path: pathname,
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
      },
    });
    upgrade.on('upgrade', (_response, socket, head) => resolve({ socket: socket as Socket, head }));
    upgrade.on('response', (response) =>
      reject(new Error(`The stream was refused: HTTP ${response.statusCode}`)),
    );
    upgrade.on('error', reject);
    upgrade.end();
  });
}

let dialled = 0;

async function dial(target: DialTarget): Promise<void> {
  const index = dialled++;
  const tail = String(index).padStart(32, '0');
  const ids = { callSid: `CA${tail}`, accountSid: `AC${'0'.repeat(32)}`, streamSid: `MZ${tail}` };
  let url = 'stream' in target ? target.stream : '';
  let headers: Record<string, string> = {};
  let customParameters: Readonly<Record<string, string>> = {};
  if ('webhook' in target) {
    const answer = await dialWebhook({ webhookUrl: target.webhook, authToken: target.authToken }, ids);
    if (answer.streamUrl === null) throw new Error(`The call was not taken: HTTP ${answer.status}`);
    url = answer.streamUrl;
    headers = { ...answer.headers };
    customParameters = answer.customParameters;
  }
  const { socket, head } = await openStream(url, headers);
  socket.setNoDelay(true);
  const { streamSid, callSid, accountSid } = ids;
  const call: Call = {
    index,
    socket,
    streamSid,
    sent: 0,
    playEnd: 0,
    marks: [],
    ...mediaTemplate(streamSid),
  };
  const reader = new FrameReader((opcode, payload) => onMessage(call, opcode, payload));
  if (head.length > 0) reader.push(head);
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    if (calls.delete(index)) broken += 1;
    grid.remove(call);
  });
  socket.write(frame(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }), true));
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  const start = { accountSid, streamSid, callSid, tracks: ['inbound'], mediaFormat, customParameters };
  socket.write(frame(JSON.stringify({ event: 'start', sequenceNumber: '1', start, streamSid }), true));
  calls.set(index, call);
  grid.add(call);
}

/** A few at a time, as calls come in. */
async function dialAll(count: number, target: DialTarget): Promise<number> {
  for (let done = 0; done < count; done += 10) {
    await Promise.all(Array.from({ length: Math.min(10, count - done) }, () => dial(target)));
  }
  return calls.size;
}

function hangUp(): void {
  for (const call of [...calls.values()]) {
    calls.delete(call.index);
    grid.remove(call);
    const { streamSid } = call;
    call.socket.write(
      frame(JSON.stringify({ event: 'stop', sequenceNumber: '9', streamSid, stop: {} }), true),
    );
    call.socket.end();
  }
}

async function answer(question: { ask: string; count?: number; target?: DialTarget }): Promise<unknown> {
  switch (question.ask) {
    case 'dial':
      return question.target ? dialAll(question.count ?? 0, question.target) : 0;
    case 'reset':
      latency.reset();
      received.reset();
      unstamped = messages = clears = broken = refused = 0;
      return null;
    case 'read': {
      const down = latency.read();
      return {
        down,
        lost: received.lost,
        unstamped,
        messages,
        clears,
        dropped: broken,
        calls: calls.size,
      };
    }
    case 'hangUp':
      hangUp();
      return null;
    default:
      return undefined;
  }
}

process.on('message', async (question: { ask?: string }) => {
  const { ask } = question;
  if (ask === undefined) return;
  try {
    process.send?.({ reply: { of: ask, value: await answer({ ...question, ask }) } });
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  }
});
process.send?.({ ready: STAMP_CHARS });
