/**
 * IP addresses as numbers, and the IPv4 addresses that hide in IPv6 ones.
 *
 * @module
 */

import { isIPv4, isIPv6 } from 'node:net';

/** An address without its zone (`fe80::1%eth0` → `fe80::1`). */
export function withoutZone(address: string): string {
  const percent = address.indexOf('%');
  return percent === -1 ? address : address.slice(0, percent);
}

function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** The eight 16-bit groups of an IPv6 address, or `null` when it is none. */
export function ipv6Groups(address: string): readonly number[] | null {
  const text = withoutZone(address);
  if (!isIPv6(text)) return null;
  const [head = '', tail] = text.split('::');
  const before = groups(head);
  if (tail === undefined) return before;
  const after = groups(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const dotted = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.');

/** The IPv4 address that an IPv4-mapped one (`::ffff:a.b.c.d`) stands for; any other address as it is. */
export function unmapped(address: string): string {
  const parts = ipv6Groups(address);
  if (parts === null) return address;
  const isMapped = parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff;
  return isMapped ? dotted(parts[6] ?? 0, parts[7] ?? 0) : withoutZone(address);
}

/** The IPv4 address inside a NAT64 one of the well-known prefix `64:ff9b::/96` (RFC 6052), else `null`. */
export function nat64Target(address: string): string | null {
  const parts = ipv6Groups(address);
  if (parts === null || parts[0] !== 0x64 || parts[1] !== 0xff9b) return null;
  return parts.slice(2, 6).every((part) => part === 0) ? dotted(parts[6] ?? 0, parts[7] ?? 0) : null;
}

export const isAddress = (text: string) => isIPv4(text) || isIPv6(withoutZone(text));
