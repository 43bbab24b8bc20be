import { once } from 'node:events';
import { WebSocket } from 'ws';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../../src/config.ts';
import type { MediaEvent } from '../../../src/media/index.ts';
import { createVoiceServer } from '../../../src/server/index.ts';
import { pageCookie } from '../../../src/server/media/index.ts';
import { MediaRig } from '../../media/rig.ts';
import { DeskDouble } from '../rig.ts';

/** The messaging double's own. */
export const MESSAGING_TOKEN = 'messaging-token';

export interface MediaServerRig {
  readonly media: MediaRig;
  readonly url: string;
  close(): Promise<void>;
}

/** Media behind the real HTTP server, on a free loopback port. */
export async function openMediaServer(config: RealtimeConfigInput['media'] = {}): Promise<MediaServerRig> {
  const media = await MediaRig.open({
    config: {
      media: config,
      tools: { authorization: ['send_test_image', 'send_file', 'send_chart'].map((tool) => ({ tool })) },
    },
    media: { publicUrl: 'http://voice.example' },
  });
  const server = createVoiceServer({
    config: realtimeConfigSchema.parse({ server: { port: 0, publicUrl: 'http://voice.example' } }),
    desk: new DeskDouble(),
    clock: media.clock,
    media: media.media,
    env: { TWILIO_AUTH_TOKEN: MESSAGING_TOKEN },
  });
  const { url } = await server.listen();
  return {
    media,
    url,
    async close() {
      await media.close();
      await server.close(0);
    },
  };
}

/** The cookie of a call's page. */
export function pageHeaders({ media }: MediaServerRig, callId: string): Record<string, string> {
  const now = media.clock.wallNow();
  const cookie = pageCookie(media.media.signer, callId, {
    now,
    expiresAt: now + 86_400_000,
    isSecure: false,
  });
  return { cookie: cookie.split(';')[0] ?? '' };
}

/** A page that shows what it is sent and says so. */
export async function connectPage(rig: MediaServerRig, callId: string, shown: readonly string[] = []) {
  const ws = new WebSocket(`${rig.url.replace('http', 'ws')}/media/live`, {
    headers: { ...pageHeaders(rig, callId), origin: rig.url },
  });
  const events: MediaEvent[] = [];
  const waiting: ((event: MediaEvent) => void)[] = [];
  ws.on('message', (data) => {
    const event = JSON.parse(String(data)) as MediaEvent;
    events.push(event);
    ws.send(JSON.stringify({ type: 'media.receipt', id: event.id }));
    waiting.shift()?.(event);
  });
  await once(ws, 'open');
  ws.send(JSON.stringify({ type: 'hello', shown }));
  while (!rig.media.media.pages.isConnected(callId)) await new Promise((resolve) => setImmediate(resolve));
  return {
    get count() {
      return events.length;
    },
    next: () =>
      events[0] ? Promise.resolve(events[0]) : new Promise<MediaEvent>((resolve) => waiting.push(resolve)),
    async close() {
      ws.close();
      await once(ws, 'close');
      while (rig.media.media.pages.isConnected(callId)) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
