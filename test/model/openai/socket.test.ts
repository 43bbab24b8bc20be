/** The client over a real WebSocket on loopback. */

import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { createOpenAiModelFactory } from '../../../src/model/openai/index.ts';
import { FakeModel, say } from '../../../src/testing/index.ts';
import { KEY, modelConfig, record, SESSION } from './support.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function modelAt(baseUrl: string, apiKey: string = KEY) {
  const config = modelConfig({ provider: 'openai-compatible', baseUrl });
  const model = createOpenAiModelFactory({ config, apiKey }).create();
  closers.push(() => model.close());
  return { model, seen: record(model) };
}

async function fakeModel(options: ConstructorParameters<typeof FakeModel>[0] = {}) {
  const fake = new FakeModel({ timing: { firstOutputMs: 5, speed: 50 }, ...options });
  closers.push(() => fake.close());
  return { fake, url: await fake.listen() };
}

const event = <T>(subscribe: (resolve: (value: T) => void) => void) => new Promise<T>(subscribe);

describe('a session over a real WebSocket', () => {
  it('speaks, and ends with a closing handshake', async () => {
    const { fake, url } = await fakeModel({ apiKey: KEY });
    fake.onTurn(() => [say('Hello.')]);
    const { model, seen } = modelAt(url);

    await model.connect(SESSION);
    const done = event((resolve) => model.on('responseDone', resolve));
    model.requestResponse({ requestId: 'req_1' });
    await done;
    model.close();
    while (fake.session.isOpen) await new Promise((resolve) => setImmediate(resolve));

    expect(fake.violations).toEqual([]);
    expect(seen.of('outputAudio').length).toBeGreaterThan(0);
    expect(seen.names().at(-1)).toBe('closed');
  });

  it('reads a refused key at the handshake', async () => {
    const { url } = await fakeModel({ apiKey: KEY });
    const { model, seen } = modelAt(url, 'wrong');

    await expect(model.connect(SESSION)).rejects.toMatchObject({ code: 'MODEL_AUTH_FAILED' });
    expect(seen.of('closed')).toHaveLength(1);
  });

  it('reads a wrong path at the handshake', async () => {
    const { url } = await fakeModel();
    const { model } = modelAt(url.replace('/v1/', '/v7/'));

    await expect(model.connect(SESSION)).rejects.toMatchObject({ code: 'MODEL_PROTOCOL' });
  });

  it('reports a port where nobody listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const { model } = modelAt(`ws://127.0.0.1:${port}`);

    await expect(model.connect(SESSION)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      cause: { code: 'ECONNREFUSED' },
    });
  });

  it('does not follow a redirect with the key in its hand', async () => {
    const target = await fakeModel();
    const redirecting = createServer((socket) => {
      socket.once('data', () => {
        socket.end(`HTTP/1.1 307 Go\r\nLocation: ${target.url}?model=m\r\nContent-Length: 0\r\n\r\n`);
      });
    });
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    closers.push(() => redirecting.close());
    const { port } = redirecting.address() as { port: number };
    const { model } = modelAt(`ws://127.0.0.1:${port}`);

    await expect(model.connect(SESSION)).rejects.toMatchObject({ code: 'MODEL_PROTOCOL' });
    expect(target.fake.sessions).toEqual([]);
  });

  it('reports a connection that breaks, once', async () => {
    const { fake, url } = await fakeModel();
    const { model, seen } = modelAt(url);
    await model.connect(SESSION);

    const closed = event((resolve) => model.on('closed', resolve));
    fake.session.reset();

    expect(await closed).toEqual({ code: 1006, reason: 'connection_lost' });
    expect(seen.of('error')).toMatchObject([{ severity: 'retryable', code: 'connection_lost' }]);
  });

  it('survives a message beyond its limit: the connection ends, the process does not', async () => {
    const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    closers.push(() => sockets.close());
    await event((resolve) => sockets.on('listening', () => resolve(null)));
    sockets.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.once('message', () => {
        socket.send(JSON.stringify({ type: 'session.updated', session: {} }));
        socket.send('x'.repeat(17 * 1024 * 1024));
      });
    });
    const { port } = sockets.address() as { port: number };
    const { model } = modelAt(`ws://127.0.0.1:${port}`);

    const closed = event((resolve) => model.on('closed', resolve));
    await model.connect(SESSION);

    expect(await closed).toEqual({ code: 1006, reason: 'connection_lost' });
  });
});
