/**
 * Connects only to addresses that were checked. undici's `connect.lookup` is not called for an IP literal, so a
 * guard in `lookup` alone is none: the socket's own word about its peer is compared as well.
 *
 * @module
 */

import type { LookupAddress, LookupOptions } from 'node:dns';
import type { buildConnector } from 'undici';
import { undici } from '../../lazy.ts';
import { unmapped } from './ip-address.ts';
import type { PinnedAddress } from './ssrf-policy.ts';

/** Makes the connector for one hop; injected, so that tests can prove it was never asked. */
export type ConnectorFactory = (addresses: readonly PinnedAddress[]) => buildConnector.connector;

/** How long a connection may take to open. */
export const CONNECT_TIMEOUT_MS = 10_000;

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** A `dns.lookup` that knows one answer. */
export function pinnedLookup(addresses: readonly PinnedAddress[]) {
  return (_hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    const wanted = addresses.filter(({ family }) => !options.family || options.family === family);
    const [first] = wanted;
    if (options.all)
      callback(
        null,
        wanted.map(({ address, family }) => ({ address, family })),
      );
    else if (first !== undefined) callback(null, first.address, first.family);
    else callback(Object.assign(new Error('no checked address'), { code: 'ENOTFOUND' }), '');
  };
}

/** The connector of production: TCP or TLS to one of `addresses`, and to nothing else. */
export const pinnedConnector: ConnectorFactory = (addresses) => {
  const allowed = new Set(addresses.map(({ address }) => address));
  const connect = undici().buildConnector({ lookup: pinnedLookup(addresses), timeout: CONNECT_TIMEOUT_MS });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      if (allowed.has(unmapped(socket.remoteAddress ?? ''))) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(new Error('connected to an address that was not checked'), null);
    });
  };
};
