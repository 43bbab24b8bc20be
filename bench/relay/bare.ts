/**
 * The bare relay: the smallest program on `ws` that parses a Twilio frame, wraps its payload for the model and sends it
 * on, and back. It admits anybody, paces nothing, knows no interruption. The floor of this runtime.
 *
 * @module
 */

import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

const modelUrl = process.argv[2] ?? '';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false }, () => {
  process.send?.({ ready: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/media` });
});
server.on('connection', (carrier) => {
  const model = new WebSocket(`${modelUrl}?model=gpt-realtime-2.1`, { perMessageDeflate: false });
  let streamSid = '';
  model.on('open', () => {
    const format = { type: 'audio/pcmu' };
    const audio = { input: { format }, output: { format } };
    model.send(JSON.stringify({ type: 'session.update', session: { type: 'realtime', audio } }));
  });
  carrier.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.event === 'start') streamSid = message.streamSid;
    else if (message.event === 'media' && model.readyState === WebSocket.OPEN) {
      model.send(JSON.stringify({ type: 'input_audio_buffer.append', audio: message.media.payload }));
    }
  });
  model.on('message', (data) => {
    const event = JSON.parse(String(data));
    if (event.type === 'response.output_audio.delta') {
      carrier.send(JSON.stringify({ event: 'media', streamSid, media: { payload: event.delta } }));
    }
  });
  carrier.on('close', () => model.close());
  model.on('close', () => carrier.close());
  for (const socket of [carrier, model]) socket.on('error', () => {});
});
