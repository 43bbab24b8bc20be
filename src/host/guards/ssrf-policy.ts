/**
 * Which URLs a tool may reach. Every address a name resolves to must be allowed, and the caller connects to these
 * addresses and no others: a name that resolves differently a moment later changes nothing.
 *
 * Texts follow nanobot 0.3.0, `security/network.py`.
 *
 * @module
 */

import { lookup } from 'node:dns/promises';
import { type BlockList, isIP } from 'node:net';
import { VoiceError } from '../../errors.ts';
import { isListed, isPublicAddress, parseCidr, rangeList } from './address-ranges.ts';
import { isAddress, unmapped } from './ip-address.ts';

/** Most addresses of one name that are looked at; a name with more is refused. */
export const MAX_ADDRESSES = 64;

/** Longest URL that is looked at. */
export const MAX_URL_CHARS = 8192;

export interface PinnedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Every address of a name, as the system resolves it. */
export type Resolver = (hostname: string) => Promise<readonly PinnedAddress[]>;

export type UrlVerdict =
  | { readonly ok: true; readonly url: URL; readonly addresses: readonly PinnedAddress[] }
  | { readonly ok: false; readonly reason: string };

export interface SsrfPolicyOptions {
  /** Ranges that may be reached although they are private, e.g. `100.64.0.0/10`; nanobot's `tools.ssrfWhitelist`. */
  readonly whitelist?: readonly string[];
  readonly resolver?: Resolver;
}

export interface UrlCheckOptions {
  /** Lets a literal loopback host pass (`localhost`, 127.0.0.0/8, ::1). Only for the channel `websocket`. */
  readonly allowLoopback?: boolean;
}

const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
};

const refused = (reason: string): UrlVerdict => ({ ok: false, reason });

const LOOPBACK = rangeList(['127.0.0.0/8', '::1/128']);
const LOOPBACK_HOST = /^(?:localhost\.?|127(?:\.\d+){3}|::1)$/i;

/** What the URL parser would quietly repair, and two parsers might repair differently. */
function malformed(text: string): string | null {
  if (text.length > MAX_URL_CHARS) return 'URL is too long';
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase() ?? '';
  if (scheme !== 'http' && scheme !== 'https') return `Only http/https allowed, got '${scheme || 'none'}'`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (/[\x00-\x20\x7f\\]/.test(text)) return 'URL has characters that are not allowed';
  const rest = text.slice(scheme.length + 1);
  if (!rest.startsWith('//') || /^\/\/(?:[/?#]|$)/.test(rest)) return 'Missing domain';
  return null;
}

export class SsrfPolicy {
  readonly #whitelist: BlockList | null;
  readonly #resolver: Resolver;

  /** @throws VoiceError `CONFIG_INVALID` when a range of the whitelist can't be read */
  constructor(options: SsrfPolicyOptions = {}) {
    const ranges = options.whitelist ?? [];
    const wrong = ranges.find((range) => parseCidr(range) === null);
    if (wrong !== undefined) {
      throw new VoiceError(
        'CONFIG_INVALID',
        `tools.ssrfWhitelist: ${wrong} is not an address range like 10.0.0.0/8.`,
      );
    }
    this.#whitelist = ranges.length === 0 ? null : rangeList(ranges);
    this.#resolver = options.resolver ?? systemResolver;
  }

  /** Whether one address may be connected to. */
  allowsAddress(address: string): boolean {
    if (!isAddress(address)) return false;
    if (this.#whitelist !== null && isListed(address, this.#whitelist)) return true;
    return isPublicAddress(address);
  }

  /**
   * Judges a URL and resolves its host. Never rejects.
   *
   * @returns the addresses to connect to, or why not
   */
  async check(text: string, options: UrlCheckOptions = {}): Promise<UrlVerdict> {
    const fault = malformed(text);
    if (fault !== null) return refused(fault);
    if (!URL.canParse(text)) return refused('Malformed URL');
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return refused('URL with credentials');
    // An IPv6 literal comes in brackets; decimal, octal and hex forms of IPv4 come out dotted.
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    if (hostname === '') return refused('Missing hostname');

    const addresses = await this.#addresses(hostname);
    if (addresses === null || addresses.length === 0) return refused(`Cannot resolve hostname: ${hostname}`);
    if (addresses.length > MAX_ADDRESSES) return refused(`Too many addresses: ${hostname}`);
    const loopback =
      options.allowLoopback === true &&
      LOOPBACK_HOST.test(hostname) &&
      addresses.every(({ address }) => isListed(address, LOOPBACK));
    if (!loopback) {
      const inside = addresses.find(({ address }) => !this.allowsAddress(address));
      if (inside !== undefined) {
        return refused(`Blocked: ${hostname} resolves to private/internal address ${inside.address}`);
      }
    }
    return { ok: true, url, addresses: addresses.map(normalised) };
  }

  /** A literal stands for itself and is never looked up; a resolver that answers for it is not believed. */
  async #addresses(hostname: string): Promise<readonly PinnedAddress[] | null> {
    const version = isIP(hostname);
    if (version !== 0) return [{ address: hostname, family: version === 6 ? 6 : 4 }];
    try {
      return await this.#resolver(hostname);
    } catch {
      return null;
    }
  }
}

function normalised({ address }: PinnedAddress): PinnedAddress {
  const plain = unmapped(address);
  return { address: plain, family: isIP(plain) === 6 ? 6 : 4 };
}
