/**
 * What a browser's request must be before it is believed: to a host that is ours, from a page that is ours.
 *
 * @module
 */

import type { PublicAddress } from '../public-address.ts';

interface Headers {
  get(name: string): string | null;
}

export class BrowserGuard {
  readonly #address: PublicAddress;
  readonly #hosts: readonly string[];
  #listening: readonly string[] = [];

  /** @param hosts - further hosts under which the pages may be opened */
  constructor(address: PublicAddress, hosts: readonly string[]) {
    this.#address = address;
    this.#hosts = hosts.map((host) => host.toLowerCase());
  }

  /** Called once the server knows where it listens. */
  setListening({ host, port, url }: { host: string; port: number; url: string }): void {
    const isLoopback = host === '127.0.0.1' || host === '::1' || host === 'localhost';
    const shown = host.includes(':') ? `[${host}]` : host;
    const names = isLoopback ? [shown, 'localhost', '127.0.0.1', '[::1]'] : [shown];
    // Browsers leave the usual port out.
    const isUsual = port === (url.startsWith('https:') ? 443 : 80);
    this.#listening = names.map((name) => (isUsual ? name : `${name}:${port}`));
  }

  /** An exact list: a name that was made to point at us (DNS rebinding) is none of them. */
  isOurHost(host: string | null): boolean {
    if (host === null) return false;
    const name = host.toLowerCase();
    const base = this.#address.base;
    const ours = base === '' ? null : new URL(base).host;
    return name === ours || this.#listening.includes(name) || this.#hosts.includes(name);
  }

  /** A decision comes from a page of ours: `Origin` is there, and is the host that was asked. */
  isOurOrigin(headers: Headers): boolean {
    const origin = headers.get('origin');
    const host = headers.get('host');
    if (origin === null || host === null || !this.isOurHost(host)) return false;
    const site = headers.get('sec-fetch-site');
    if (site !== null && site !== 'same-origin') return false;
    try {
      return new URL(origin).host === host.toLowerCase() && /^https?:$/.test(new URL(origin).protocol);
    } catch {
      return false;
    }
  }

  /** Whether a cookie may be marked for HTTPS only. */
  get isSecure(): boolean {
    return this.#address.base.startsWith('https:');
  }
}
