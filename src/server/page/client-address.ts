/**
 * Who asked: the peer of the connection, or whom a reverse proxy that we believe names.
 *
 * @module
 */

import { BlockList, isIP } from 'node:net';

/** Entries of `X-Forwarded-For` that are looked at, from its end. */
const MAX_HOPS = 20;

export class ClientAddress {
  readonly #trusted = new BlockList();
  readonly #believes: boolean;

  /** @param trustedProxies - addresses and networks, as `server.trustedProxies` has them */
  constructor(trustedProxies: readonly string[]) {
    this.#believes = trustedProxies.length > 0;
    for (const entry of trustedProxies) {
      const [address = '', bits] = entry.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /**
   * @param peer - of the connection
   * @param forwarded - the header `X-Forwarded-For`, to which each proxy appends whom it saw
   */
  of(peer: string | undefined, forwarded: string | null): string {
    let address = plain(peer ?? '');
    if (!this.#believes || forwarded === null) return address;
    const hops = forwarded.split(',').slice(-MAX_HOPS);
    while (this.#isTrusted(address)) {
      const next = plain(hops.pop()?.trim() ?? '');
      if (isIP(next) === 0) return address;
      address = next;
    }
    return address;
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}

/** An IPv4 address that comes over an IPv6 socket is the same one. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
