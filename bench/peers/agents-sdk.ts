/**
 * OpenAI's agents SDK with its own Twilio transport, put together as its documentation does it.
 *
 * @module
 */

import { RealtimeAgent, RealtimeSession, tool } from '@openai/agents/realtime';
import { TwilioRealtimeTransportLayer } from '@openai/agents-extensions';
import { z } from 'zod';
import type { TextSocket } from '../../src/leg/index.ts';
import { HANG_UP, type Peer } from './peer.ts';

type Listener = (event: { data?: string }) => void;

/** The part of a browser's WebSocket that the transport uses. */
function webSocketOf(socket: TextSocket) {
  const listeners: Record<string, Listener[]> = { message: [], close: [], error: [] };
  socket.listen({
    message: (data) => {
      for (const listener of listeners.message ?? []) listener({ data: String(data) });
    },
    closed: () => {
      for (const listener of listeners.close ?? []) listener({});
    },
  });
  return {
    addEventListener: (name: string, listener: Listener) => listeners[name]?.push(listener),
    send: (text: string) => socket.send(text),
    close: () => socket.close(1000),
  };
}

const FORMATS = { audio: { input: { format: 'g711_ulaw' }, output: { format: 'g711_ulaw' } } } as const;

export const agentsSdk: Peer = {
  name: '@openai/agents-extensions (Twilio transport)',
  async answer({ modelUrl, socket, tools }) {
    const twilioWebSocket = webSocketOf(socket);
    const agent = new RealtimeAgent({
      name: 'test',
      instructions: 'You are a test.',
      tools: [
        ...tools.map(({ name, latencyMs, output }) =>
          tool({
            name,
            description: name,
            parameters: z.object({}),
            execute: async () => {
              await new Promise((resolve) => setTimeout(resolve, latencyMs));
              return output;
            },
          }),
        ),
        // It has no hang-up of its own: the stream is what there is to close.
        tool({
          name: HANG_UP,
          description: 'End this call.',
          parameters: z.object({}),
          execute: async () => {
            twilioWebSocket.close();
            return 'The call has ended.';
          },
        }),
      ],
    });
    const transport = new TwilioRealtimeTransportLayer({
      twilioWebSocket: twilioWebSocket as unknown as WebSocket,
    });
    const session = new RealtimeSession(agent, { transport, model: 'gpt-realtime-2.1', config: FORMATS });
    session.on('error', () => {});
    await session.connect({ apiKey: 'test-key', url: `${modelUrl}?model=gpt-realtime-2.1` });
    return { close: async () => session.close() };
  },
};
