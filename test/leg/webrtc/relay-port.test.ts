// Calls over TURN are in test/e2e; here is what they go through on our side.

import { createSocket } from 'node:dgram';
import { describe, expect, it } from 'vitest';
import { RelayPort, turnAddress } from '../../../src/leg/webrtc/relay-port.ts';
import { until } from '../../bugs/webrtc-line.ts';

describe('the way to a TURN server', () => {
  it('carries what is said to it and what it says, and nothing from others', async () => {
    const server = createSocket('udp4');
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    server.on('message', (bytes, { port }) => server.send(`re: ${bytes}`, port, '127.0.0.1'));
    const relay = await RelayPort.open({ host: '127.0.0.1', port: server.address().port }, '127.0.0.1');
    const agent = createSocket('udp4');
    const heard: string[] = [];
    agent.on('message', (bytes) => heard.push(String(bytes)));
    await new Promise<void>((resolve) => agent.bind(0, '127.0.0.1', resolve));
    agent.send('hello', relay.port, '127.0.0.1');
    expect(await until(() => heard.length > 0, 2000)).toBe(true);
    expect(heard).toEqual(['re: hello']);
    // The native stack is bound to the loopback address in this mode: from there nothing goes out but through this port.
    const failed = new Promise((resolve) =>
      agent.send('x', 9, '198.51.100.1', (error) => resolve(error !== null)),
    );
    expect(await failed).toBe(process.platform === 'linux');
    relay.close();
    relay.close();
    agent.close();
    server.close();
  });

  it.each([
    ['turn:turn.example.com', { host: 'turn.example.com', port: 3478 }],
    ['turn:turn.example.com:80?transport=udp', { host: 'turn.example.com', port: 80 }],
    ['turn:[2001:db8::1]:3479', { host: '2001:db8::1', port: 3479 }],
    ['turn:turn.example.com?transport=tcp', null],
    ['turns:turn.example.com', null],
  ])('is known from %s', (url, address) => {
    expect(turnAddress(url)).toEqual(address);
  });
});
