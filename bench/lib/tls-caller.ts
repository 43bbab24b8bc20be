/**
 * TLS for callers that speak none: what they say to its plain port goes encrypted to the gateway, from a process of its own, so
 * that what it takes is not counted as the gateway's.
 *
 * @module
 */

import { type AddressInfo, createServer } from 'node:net';
import { connect } from 'node:tls';

let to: { readonly port: number; readonly ca: string } | null = null;

const server = createServer({ noDelay: true }, (plain) => {
  if (!to) {
    plain.destroy();
    return;
  }
  const secure = connect({ port: to.port, host: '127.0.0.1', ca: to.ca });
  secure.setNoDelay(true);
  for (const [one, other] of [
    [plain, secure],
    [secure, plain],
  ] as const) {
    one.on('error', () => one.destroy());
    one.on('close', () => other.destroy());
    one.pipe(other);
  }
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ ready: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (message: { to?: { port: number; ca: string } }) => {
  if (!message.to) return;
  to = message.to;
  process.send?.({ reply: { of: 'to', value: null } });
});
