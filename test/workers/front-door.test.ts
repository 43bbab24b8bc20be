import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { realClock } from '../../src/clock.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { FrontDoor, MAX_PEEKED_CONNECTIONS, PEEK_TIMEOUT_MS } from '../../src/workers/front-door.ts';
import { MAX_PEEKED_HEAD_BYTES } from '../../src/workers/request-head.ts';
import { until } from '../server/rig.ts';

const doors: FrontDoor[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const door of doors.splice(0)) door.close();
});

interface Placed {
  readonly socket: Socket;
  readonly target: string;
  readonly bytes: string;
  readonly from: string | null;
}

async function open(clock: typeof realClock | FakeClock = realClock, isNamed = false) {
  const placed: Placed[] = [];
  const door = new FrontDoor({
    clock,
    isNamed,
    place: (socket, { target }, bytes, from) => {
      sockets.push(socket);
      placed.push({ socket, target, bytes: bytes.toString('latin1'), from });
    },
  });
  doors.push(door);
  await new Promise<void>((resolve) => door.server.listen(0, '127.0.0.1', resolve));
  const { port } = door.server.address() as AddressInfo;
  const dial = async () => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return { door, placed, dial };
}

describe('the one port', () => {
  it('stops reading with the head: what comes after stays for whoever gets the connection', async () => {
    const { placed, dial } = await open();
    const client = await dial();
    client.write('POST /operator/login HTTP/1.1\r\nContent-Length: 5\r\n\r\n');
    await until('it is placed', () => placed.length === 1);
    client.write('hello');
    // Whoever is read was read by now: another connection came later and is through.
    const before = placed[0]!.socket.bytesRead;
    (await dial()).write('GET /talk HTTP/1.1\r\n\r\n');
    await until('the other one is placed', () => placed.length === 2);
    expect(placed[0]!.socket.bytesRead).toBe(before);
    expect(placed[0]!.bytes).toMatch(/\r\n\r\n$/);

    // Nothing is lost: read on from here, it is all there.
    const rest: Buffer[] = [];
    placed[0]!.socket.on('data', (chunk: Buffer) => rest.push(chunk)).resume();
    await until('the rest came', () => Buffer.concat(rest).toString().endsWith('hello'));
  });

  it('puts a head together from single bytes', async () => {
    const { placed, dial } = await open();
    const client = await dial();
    client.setNoDelay(true);
    for (const byte of 'GET /talk HTTP/1.1\r\n\r\n') client.write(byte);
    await until('it is placed', () => placed.length === 1);
    expect(placed[0]).toMatchObject({ target: '/talk', bytes: 'GET /talk HTTP/1.1\r\n\r\n' });
  });

  it('answers a head without an end with 431', async () => {
    const { door, placed, dial } = await open();
    const client = await dial();
    let answer = '';
    client.on('data', (data) => {
      answer += String(data);
    });
    client.write('GET / HTTP/1.1\r\nA: '.padEnd(MAX_PEEKED_HEAD_BYTES + 10, 'x'));
    await once(client, 'close');
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
    expect([placed.length, door.size]).toEqual([0, 0]);
  });

  it('closes who says nothing, or says it too slowly', async () => {
    const clock = new FakeClock();
    const { door, placed, dial } = await open(clock);
    const [silent, slow] = [await dial(), await dial()];
    slow.write('GET /');
    await until('both are seen', () => door.size === 2);
    const gone = Promise.all([once(silent, 'close'), once(slow, 'close')]);
    await clock.advance(PEEK_TIMEOUT_MS);
    await gone;
    expect([door.size, placed.length]).toEqual([0, 0]);
  });

  it('with one more than its bound the oldest gives way, and nobody is kept out', async () => {
    const { door, placed, dial } = await open();
    const first = await dial();
    const cut = once(first, 'close');
    for (let index = 1; index < MAX_PEEKED_CONNECTIONS; index += 1) await dial();
    await until('the bound is reached', () => door.size === MAX_PEEKED_CONNECTIONS);
    const last = await dial();
    last.write('GET /talk HTTP/1.1\r\n\r\n');
    await cut;
    await until('the last is placed', () => placed.length === 1);
    expect(door.size).toBe(MAX_PEEKED_CONNECTIONS - 1);
  });

  it('forgets who leaves before the head is there', async () => {
    const { door, dial } = await open();
    const client = await dial();
    client.write('GET / HT');
    await until('it is seen', () => door.size === 1);
    client.end();
    await until('it is forgotten', () => door.size === 0);
  });
});

describe('the door inside', () => {
  it('takes the line that says whose a connection is off, however it comes', async () => {
    const { placed, dial } = await open(realClock, true);
    const [whole, slow] = [await dial(), await dial()];
    const head = 'GET /talk HTTP/1.1\r\n\r\n';
    whole.write(`2001:db8::7\n${head}`);
    await until('it is placed', () => placed.length === 1);
    slow.setNoDelay(true);
    for (const byte of `203.0.113.7\n${head}`) slow.write(byte);
    await until('the other one, too', () => placed.length === 2);
    expect(placed.map(({ from, bytes }) => [from, bytes])).toEqual([
      ['2001:db8::7', head],
      ['203.0.113.7', head],
    ]);
  });

  it('closes what does not begin with such a line', async () => {
    const { door, placed, dial } = await open(realClock, true);
    const client = await dial();
    const gone = once(client, 'close');
    client.write(`GET /${'x'.repeat(100)} HTTP/1.1\r\n\r\n`);
    await gone;
    expect([door.size, placed.length]).toEqual([0, 0]);
  });
});
