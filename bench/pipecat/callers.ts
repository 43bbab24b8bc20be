/**
 * A process of callers who speak Twilio's dialect, in bursts of tone (`bursts.ts`): the load of `relay/carriers.ts`
 * without stamps.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { decodeG711, encodeG711 } from '../../src/audio/index.ts';
import { dialWebhook } from '../../src/testing/carrier/dial.ts';
import { nowUs } from '../lib/monotonic.ts';
import type { DialTarget } from '../relay/carriers.ts';
import { FrameReader, frame, OPCODE } from '../relay/frames.ts';
import { Grid } from '../relay/grid.ts';
import { BurstListener, beginsBurst, burstFrames, type Heard } from './bursts.ts';

const FRAMES = burstFrames(8000).map((samples) =>
  Buffer.from(encodeG711(samples, 'pcmu')).toString('base64'),
);
/** Bytes that may wait in one socket for the server: ten seconds of its frames. */
const MAX_WAITING_BYTES = 160_000;

interface Call {
  readonly index: number;
  readonly socket: Socket;
  readonly streamSid: string;
  readonly listener: BurstListener;
  readonly heard: Heard[];
  readonly sentUs: number[];
  sent: number;
  /** When all that was received will have been played, in ms. */
  playEnd: number;
  marks: { dueAt: number; name: string }[];
}

const calls: Call[] = [];
const open = new Set<Call>();
let refused = 0;
let messages = 0;

const PAYLOAD_MARK = Buffer.from('"payload"');
const QUOTE = 0x22;

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
  const arrivedUs = nowUs();
  const start = payload.indexOf(QUOTE, at + PAYLOAD_MARK.length) + 1;
  const bytes = Buffer.from(payload.toString('latin1', start, payload.indexOf(QUOTE, start)), 'base64');
  const now = performance.now();
  const waitsMs = Math.max(0, call.playEnd - now);
  call.listener.push(decodeG711(bytes, 'pcmu'), arrivedUs, arrivedUs + waitsMs * 1000);
  call.playEnd = now + waitsMs + bytes.length / 8;
}

function onControl(call: Call, text: string): void {
  const { event, mark } = JSON.parse(text) as { event: string; mark?: { name: string } };
  if (event === 'mark') call.marks.push({ dueAt: call.playEnd, name: mark?.name ?? '' });
  else if (event === 'clear') {
    for (const each of call.marks) each.dueAt = 0;
    call.playEnd = 0;
  }
}

function sendMedia(call: Call): void {
  const { socket, streamSid, sent } = call;
  if (socket.writableLength > MAX_WAITING_BYTES) {
    refused += 1;
    return;
  }
  if (beginsBurst(sent)) call.sentUs.push(nowUs());
  call.sent += 1;
  socket.write(
    frame(
      `{"event":"media","sequenceNumber":"${sent + 2}","media":{"track":"inbound","chunk":"${sent + 1}",` +
        `"timestamp":"${sent * 20}","payload":"${FRAMES[sent % FRAMES.length]}"},"streamSid":"${streamSid}"}`,
      true,
    ),
  );
}

function playMarks(now: number): void {
  for (const call of open) {
    while ((call.marks[0]?.dueAt ?? Number.POSITIVE_INFINITY) <= now) {
      const mark = { name: call.marks.shift()?.name };
      const { streamSid, sent } = call;
      call.socket.write(
        frame(JSON.stringify({ event: 'mark', sequenceNumber: String(sent), streamSid, mark }), true),
      );
    }
  }
}

const grid = new Grid<Call>(sendMedia, playMarks);

function openStream(url: string, headers: Record<string, string>): Promise<[Socket, Buffer]> {
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
    upgrade.on('upgrade', (_response, socket, head) => resolve([socket as Socket, head]));
    upgrade.on('response', ({ statusCode }) =>
      reject(new Error(`The stream was refused: HTTP ${statusCode}`)),
    );
    upgrade.on('error', reject);
    upgrade.end();
  });
}

/** One call. */
async function dial(target: DialTarget): Promise<void> {
  const tail = String(calls.length).padStart(32, '0');
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
  const [socket, head] = await openStream(url, headers);
  socket.setNoDelay(true);
  const { streamSid, callSid, accountSid } = ids;
  const heard: Heard[] = [];
  const call: Call = {
    index: calls.length,
    socket,
    streamSid,
    listener: new BurstListener(8000, (each) => heard.push(each)),
    heard,
    sentUs: [],
    sent: 0,
    playEnd: 0,
    marks: [],
  };
  calls.push(call);
  open.add(call);
  const reader = new FrameReader((opcode, payload) => onMessage(call, opcode, payload));
  if (head.length > 0) reader.push(head);
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    open.delete(call);
    grid.remove(call);
  });
  socket.write(frame(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }), true));
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  const start = { accountSid, streamSid, callSid, tracks: ['inbound'], mediaFormat, customParameters };
  socket.write(frame(JSON.stringify({ event: 'start', sequenceNumber: '1', start, streamSid }), true));
  grid.add(call);
}

async function answer({ ask, target }: { ask: string; target?: DialTarget }): Promise<unknown> {
  if (ask === 'dial' && target) await dial(target);
  if (ask !== 'read') return null;
  return {
    refused,
    messages,
    open: open.size,
    readUs: nowUs(),
    ends: calls.map(({ sentUs, heard, sent, listener: { samples } }) => ({
      sentUs,
      heard,
      sentMs: sent * 20,
      heardMs: samples / 8,
    })),
  };
}

process.on('message', async (question: { ask?: string; target?: DialTarget }) => {
  const { ask } = question;
  if (ask === undefined) return;
  try {
    process.send?.({ reply: { of: ask, value: await answer({ ...question, ask }) } });
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  }
});
process.send?.({ ready: 'callers' });
