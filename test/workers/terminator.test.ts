import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../src/clock.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { TlsFiles } from '../../src/tls-files.ts';
import { LINGER_MS, MAX_HANDSHAKES, Terminator } from '../../src/workers/terminator.ts';
import { until } from '../server/rig.ts';
import { type Certificate, hasOpenssl, makeCertificate } from './certificate.ts';

let certificate: Certificate;
beforeAll(() => {
  if (hasOpenssl) certificate = makeCertificate();
});
afterAll(() => certificate?.remove());

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

interface Rig {
  readonly terminator: Terminator;
  /** What came to the door inside. */
  readonly inside: Socket[];
  readonly dial: () => Promise<TLSSocket>;
  readonly raw: () => Socket;
  /** Timers for ends that linger. */
  readonly lingering: (() => void)[];
}

async function open(options: { maxConnections?: number; handshakeTimeoutMs?: number } = {}): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'door-'));
  const inner = join(folder, 'door');
  const inside: Socket[] = [];
  const door: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    inside.push(socket);
  });
  await new Promise<void>((resolve) => door.listen(inner, resolve));
  const lingering: (() => void)[] = [];
  const terminator = new Terminator({
    clock: {
      ...realClock,
      setTimeout(callback, delayMs) {
        if (delayMs !== LINGER_MS) return realClock.setTimeout(callback, delayMs);
        lingering.push(callback);
        return { clear: () => lingering.splice(lingering.indexOf(callback), 1) };
      },
    },
    inner,
    maxConnections: 2000,
    ...options,
  });
  await terminator.serve(new TlsFiles(certificate, realClock, silentLogger));
  const front = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) =>
    terminator.take(socket),
  );
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const { port } = front.address() as AddressInfo;
  undo.push(() => {
    terminator.close();
    front.close();
    door.close();
    for (const socket of inside) socket.destroy();
    rmSync(folder, { recursive: true });
  });
  const kept = <S extends Socket>(socket: S): S => {
    socket.on('error', () => {});
    undo.push(() => socket.destroy());
    return socket;
  };
  return {
    terminator,
    inside,
    lingering,
    raw: () => kept(connect(port, '127.0.0.1')),
    async dial() {
      const options = { port, host: '127.0.0.1', ca: certificate.pem, allowHalfOpen: true };
      const client = kept(tlsConnect(options));
      const count = inside.length;
      await once(client, 'secureConnect');
      await until('it is inside', () => inside.length > count);
      return client;
    },
  };
}

const textOf = (socket: Socket) => {
  const read = { text: '' };
  socket.on('data', (chunk) => {
    read.text += String(chunk);
  });
  return read;
};

describe.skipIf(!hasOpenssl)('our end of TLS', () => {
  it('says whose a connection is, and passes on every byte, both ways', async () => {
    const { inside, dial, terminator } = await open();
    const client = await dial();
    const [toUs, toClient] = [textOf(inside[0]!), textOf(client)];
    client.write('GET /healthz');
    inside[0]?.write('HTTP/1.1 200');
    await until('both are through', () => toUs.text.endsWith('healthz') && toClient.text !== '');
    expect(toUs.text).toBe('127.0.0.1\nGET /healthz');
    expect(toClient.text).toBe('HTTP/1.1 200');
    expect(terminator.size).toBe(1);
  });

  it('reads no more of one end than the other one takes', async () => {
    const { inside, dial } = await open();
    const client = await dial();
    const [worker] = inside;
    const CHUNK = Buffer.alloc(64 * 1024);
    const LOT = 64 * 1024 * 1024;
    const turns = async (count: number) => {
      for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    for (const [from, to] of [
      [worker!, client],
      [client, worker!],
    ] as const) {
      to.pause();
      // Written until it no longer flows; what is on its way then is in buffers of a fixed size.
      let written = 0;
      while (
        written < LOT &&
        (from.write(CHUNK) || (await Promise.race([flows(from), turns(3000)])) === true)
      )
        written += CHUNK.length;
      expect(written).toBeLessThan(LOT / 4);
      to.resume();
      await until('it flows again', () => from.writableLength === 0);
    }

    async function flows(socket: Socket): Promise<true> {
      await once(socket, 'drain');
      return true;
    }
  });

  it('lets each end finish by itself: a client that said all still hears the answer', async () => {
    const { inside, dial, terminator } = await open();
    const client = await dial();
    const [toUs, toClient] = [textOf(inside[0]!), textOf(client)];
    client.end('question');
    await once(inside[0]!, 'end');
    expect(toUs.text).toBe('127.0.0.1\nquestion');
    inside[0]?.end('answer'.repeat(10_000));
    await once(client, 'close');
    expect(toClient.text).toBe('answer'.repeat(10_000));
    await until('nothing is left', () => terminator.size === 0);
  });

  it('leaves nothing when either end is cut off', async () => {
    const { inside, dial, terminator, lingering } = await open();
    const [cut, orphan] = [await dial(), await dial()];
    const gone = once(inside[0]!.resume(), 'close');
    inside[0]?.on('end', () => inside[0]?.end());
    cut.destroy();
    await gone;
    const end = once(orphan.resume(), 'end');
    inside[1]?.destroy();
    await end;
    orphan.end();
    await until('nothing is left', () => terminator.size === 0 && lingering.length === 0);
  });

  it('does not wait for ever for a client whose worker has closed', async () => {
    const { inside, dial, terminator, lingering } = await open();
    const client = await dial();
    const end = once(client.resume(), 'end');
    inside[0]?.destroy();
    await end;
    // It heard the end, and keeps its own side open.
    expect(terminator.size).toBe(1);
    for (const callback of [...lingering]) callback();
    await until('nothing is left', () => terminator.size === 0);
  });

  it('closes what is no TLS, or none in time', async () => {
    const { raw, terminator, inside } = await open({ handshakeTimeoutMs: 50 });
    const [plain, silent] = [raw(), raw()];
    const gone = [once(plain.resume(), 'close'), once(silent.resume(), 'close')];
    plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.all(gone);
    await until('nothing is left', () => terminator.size === 0);
    expect(inside).toEqual([]);
  });

  it('cuts the oldest handshake for one more than its bound', async () => {
    const { raw, terminator } = await open();
    const first = raw();
    const cut = once(first.resume(), 'close');
    await until('it is there', () => terminator.size === 1);
    for (let index = 1; index < MAX_HANDSHAKES; index += 1) await once(raw(), 'connect');
    await until('the bound is reached', () => terminator.size === MAX_HANDSHAKES);
    raw();
    await cut;
    await until('there are no more', () => terminator.size === MAX_HANDSHAKES);
  });

  it('closes one connection more than it may have', async () => {
    const { dial, raw, terminator } = await open({ maxConnections: 1 });
    await dial();
    await once(raw().resume(), 'close');
    expect(terminator.size).toBe(1);
  });
});
