// A program of its own that places a call with Twilio's messages. It shares no code with the gateway: its
// signature, its frames and its marks are written from Twilio's documentation.
//
//   node outside-caller.mjs '<JSON options>'      prints one JSON object with what the caller met

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';

const FRAME_BYTES = 160;
const FRAME_MS = 20;
const SILENCE = Buffer.alloc(FRAME_BYTES, 0xff);
const STREAM_SID = 'MZ0000000000000000000000000000000a';
const ACCOUNT_SID = 'AC0000000000000000000000000000000a';

const options = {
  url: '',
  authToken: '',
  callSid: 'CA0000000000000000000000000000000a',
  from: '+15550100',
  /** `right`, `wrong` (another of the same length, in the path) or `none` (no path, no parameter). */
  token: 'right',
  /** Raw µ-law at 8 kHz to say, or nothing: silence. */
  audioFile: null,
  /** Digits to dial right after the start. */
  digits: '',
  /** How many frames to say in all, with silence after the audio. */
  frames: 50,
  /** Hang up this long after the last frame. */
  lingerMs: 200,
  ...JSON.parse(process.argv[2] ?? '{}'),
};

async function placeCall() {
  const form = new URLSearchParams({
    CallSid: options.callSid,
    AccountSid: ACCOUNT_SID,
    From: options.from,
    To: '+15550199',
    CallStatus: 'ringing',
    Direction: 'inbound',
    ApiVersion: '2010-04-01',
  });
  const url = `${options.url}/twilio/voice`;
  const sorted = [...form].sort(([a], [b]) => (a < b ? -1 : 1));
  const signed = url + sorted.map(([name, value]) => name + value).join('');
  const signature = createHmac('sha1', options.authToken).update(signed).digest('base64');
  const answer = await fetch(url, {
    method: 'POST',
    body: form,
    headers: { 'x-twilio-signature': signature },
  });
  return { status: answer.status, text: await answer.text() };
}

/** Plays what comes at the speed of sound, and gives marks back when what was before them has been heard. */
class Playout {
  constructor(ws) {
    this.ws = ws;
    this.heard = [];
    this.heardBytes = 0;
    this.queue = [];
    this.marksBack = [];
    this.clears = 0;
    this.endsAt = 0;
  }

  media(payload) {
    const bytes = Buffer.from(payload, 'base64');
    this.endsAt = Math.max(this.endsAt, performance.now()) + bytes.length / 8;
    this.queue.push({ at: this.endsAt, bytes });
    this.arm();
  }

  mark(name) {
    this.queue.push({ at: Math.max(this.endsAt, performance.now()), mark: name });
    this.arm();
  }

  clear() {
    this.clears += 1;
    for (const item of this.queue.splice(0)) if (item.mark) this.giveBack(item.mark);
    this.endsAt = 0;
  }

  arm() {
    setTimeout(() => this.play(), Math.max(0, (this.queue[0]?.at ?? 0) - performance.now()));
  }

  play() {
    while (this.queue[0] && this.queue[0].at <= performance.now()) {
      const item = this.queue.shift();
      if (item.mark) this.giveBack(item.mark);
      else {
        this.heard.push(item.bytes);
        this.heardBytes += item.bytes.length;
      }
    }
    if (this.queue[0]) this.arm();
  }

  giveBack(name) {
    this.marksBack.push(name);
    if (this.ws.readyState === WebSocket.OPEN) {
      this.ws.send(
        JSON.stringify({ event: 'mark', sequenceNumber: '9', streamSid: STREAM_SID, mark: { name } }),
      );
    }
  }
}

function stream(streamUrl, token) {
  return new Promise((resolve) => {
    const ws = new WebSocket(streamUrl);
    const playout = new Playout(ws);
    let sequence = 0;
    const send = (message) => {
      sequence += 1;
      if (ws.readyState === WebSocket.OPEN)
        ws.send(JSON.stringify({ ...message, sequenceNumber: String(sequence) }));
    };
    ws.on('unexpected-response', (_request, response) => {
      response.resume();
      resolve({ upgradeStatus: response.statusCode, closeCode: null, heardBytes: 0, marks: 0, clears: 0 });
    });
    ws.on('error', () => {});
    ws.on('close', (closeCode) => {
      resolve({
        upgradeStatus: 101,
        closeCode,
        heardBytes: playout.heardBytes,
        marks: playout.marksBack.length,
        clears: playout.clears,
        heard: Buffer.concat(playout.heard).toString('base64'),
      });
    });
    ws.on('message', (data, isBinary) => {
      if (isBinary) throw new Error('The gateway sent a binary frame.');
      const message = JSON.parse(data.toString());
      if (message.streamSid !== STREAM_SID) throw new Error('The gateway named another stream.');
      if (message.event === 'media') playout.media(message.media.payload);
      else if (message.event === 'mark') playout.mark(message.mark.name);
      else if (message.event === 'clear') playout.clear();
      else throw new Error(`The gateway sent ${message.event}.`);
    });
    ws.on('open', () => {
      ws.send(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }));
      send({
        event: 'start',
        streamSid: STREAM_SID,
        start: {
          streamSid: STREAM_SID,
          accountSid: ACCOUNT_SID,
          callSid: options.callSid,
          tracks: ['inbound'],
          customParameters: token === null ? {} : { token },
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        },
      });
      for (const digit of options.digits) {
        send({ event: 'dtmf', streamSid: STREAM_SID, dtmf: { track: 'inbound_track', digit } });
      }
      talk(ws, send);
    });
  });
}

function talk(ws, send) {
  const audio = options.audioFile ? readFileSync(options.audioFile) : Buffer.alloc(0);
  const startedAt = performance.now();
  let frame = 0;
  const tick = setInterval(() => {
    while (frame < options.frames && frame * FRAME_MS <= performance.now() - startedAt) {
      const said = audio.subarray(frame * FRAME_BYTES, (frame + 1) * FRAME_BYTES);
      const bytes = said.length === FRAME_BYTES ? said : SILENCE;
      send({
        event: 'media',
        streamSid: STREAM_SID,
        media: {
          track: 'inbound',
          chunk: String(frame + 1),
          timestamp: String(frame * FRAME_MS),
          payload: bytes.toString('base64'),
        },
      });
      frame += 1;
    }
    if (frame < options.frames && ws.readyState === WebSocket.OPEN) return;
    clearInterval(tick);
    setTimeout(() => {
      send({
        event: 'stop',
        streamSid: STREAM_SID,
        stop: { accountSid: ACCOUNT_SID, callSid: options.callSid },
      });
      ws.close(1000);
    }, options.lingerMs);
  }, FRAME_MS);
}

const answer = await placeCall();
const result = { webhookStatus: answer.status, twiml: answer.text };
const streamUrl = /<Stream url="([^"]+)"/.exec(answer.text)?.[1];
if (streamUrl) {
  const token = /name="token" value="([^"]+)"/.exec(answer.text)?.[1] ?? null;
  const base = streamUrl.slice(0, streamUrl.lastIndexOf('/'));
  const wrong = 'A'.repeat(43);
  if (options.token === 'right') Object.assign(result, await stream(streamUrl, token));
  else if (options.token === 'wrong') Object.assign(result, await stream(`${base}/${wrong}`, wrong));
  else Object.assign(result, await stream(base, null));
}
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);
