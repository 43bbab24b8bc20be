/**
 * Which addresses are the open internet. nanobot's list (`security/network.py`) and every other range that IANA's
 * special-purpose registries keep from global routing, plus the ways IPv6 wraps an IPv4 address.
 *
 * @module
 */

import { BlockList, isIPv4 } from 'node:net';
import { isAddress, nat64Target, unmapped } from './ip-address.ts';

/** Never the open internet. The first seven are nanobot's own. */
export const BLOCKED_IPV4: readonly string[] = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12',
  '192.168.0.0/16',
  '168.63.129.16/32', // Azure's platform address: public by number, inside by reach
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relay anycast
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

/** Inside 2000::/3, the only part of IPv6 that is routed globally, and yet not the open internet. */
export const BLOCKED_IPV6: readonly string[] = [
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
];

const GLOBAL_IPV6 = '2000::/3';

const family = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');

/** Splits `address/prefix`; a bare address is one host. `null` when it is neither. */
export function parseCidr(cidr: string): { address: string; prefix: number } | null {
  const [address = '', prefixText, ...rest] = cidr.trim().split('/');
  if (rest.length > 0 || !isAddress(address) || address.includes('%')) return null;
  const bits = isIPv4(address) ? 32 : 128;
  if (prefixText === undefined) return { address, prefix: bits };
  if (!/^\d{1,3}$/.test(prefixText) || Number(prefixText) > bits) return null;
  return { address, prefix: Number(prefixText) };
}

/** A list of ranges. @throws RangeError when one can't be read */
export function rangeList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const range = parseCidr(cidr);
    if (range === null) throw new RangeError(`not an address range: ${cidr}`);
    list.addSubnet(range.address, range.prefix, family(range.address));
  }
  return list;
}

const blocked = rangeList([...BLOCKED_IPV4, ...BLOCKED_IPV6]);
const globalIpv6 = rangeList([GLOBAL_IPV6]);

/** Whether `address` lies in `list`; an IPv4-mapped address counts as the IPv4 address it stands for. */
export function isListed(address: string, list: BlockList): boolean {
  const plain = unmapped(address);
  return list.check(plain, family(plain));
}

/** True only for an address of the open internet; anything unreadable is not. */
export function isPublicAddress(address: string): boolean {
  if (!isAddress(address)) return false;
  const plain = unmapped(address);
  if (isIPv4(plain)) return !blocked.check(plain, 'ipv4');
  // A network without IPv4 of its own reaches all of it through NAT64; what counts is who is behind.
  const behind = nat64Target(plain);
  if (behind !== null) return !blocked.check(behind, 'ipv4');
  return globalIpv6.check(plain, 'ipv6') && !blocked.check(plain, 'ipv6');
}
