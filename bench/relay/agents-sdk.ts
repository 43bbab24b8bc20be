/**
 * OpenAI's agents SDK with its own Twilio transport on a server of `ws`, put together as its documentation does it.
 *
 * @module
 */

import type { AddressInfo } from 'node:net';
import { RealtimeAgent, RealtimeSession } from '@openai/agents/realtime';
import { TwilioRealtimeTransportLayer } from '@openai/agents-extensions';
import { WebSocketServer } from 'ws';

const modelUrl = process.argv[2] ?? '';
const FORMATS = { audio: { input: { format: 'g711_ulaw' }, output: { format: 'g711_ulaw' } } } as const;

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false }, () => {
  process.send?.({ ready: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/media` });
});
server.on('connection', (socket) => {
  const agent = new RealtimeAgent({ name: 'bench', instructions: 'You are a helpful assistant.' });
  const transport = new TwilioRealtimeTransportLayer({ twilioWebSocket: socket as unknown as WebSocket });
  const session = new RealtimeSession(agent, { transport, model: 'gpt-realtime-2.1', config: FORMATS });
  session.on('error', ({ error }) => process.stderr.write(`agents SDK: ${String(error)}\n`));
  session
    .connect({ apiKey: 'bench', url: `${modelUrl}?model=gpt-realtime-2.1` })
    .catch((error: unknown) => process.stderr.write(`agents SDK: ${String(error)}\n`));
});
