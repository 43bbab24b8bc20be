import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { HEADERS_TIMEOUT_MS } from '../../src/server/index.ts';
import { closeRigs, startRig } from './rig.ts';

afterEach(closeRigs);

describe('a client that dribbles its headers', () => {
  it('is cut off, however busy it looks', async () => {
    const rig = await startRig();
    const socket = connect(Number(new URL(rig.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    const startedAt = performance.now();
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    const dribble = setInterval(() => socket.write('X-A: b\r\n'), 200);
    await once(socket, 'close');
    clearInterval(dribble);
    expect(performance.now() - startedAt).toBeLessThan(HEADERS_TIMEOUT_MS + 3000);
  }, 30_000);
});
