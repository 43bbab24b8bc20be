/**
 * Which addresses are told to the peer, and which of the peer's are tried.
 *
 * @module
 */

import { isIP, isIPv6 } from 'node:net';
import type { WebRtcConfig } from '../../config-webrtc.ts';
import { type Candidate, isLoopback } from './candidate.ts';

/** Our candidates as the answer has them. */
export function announced(candidates: readonly Candidate[], config: WebRtcConfig): Candidate[] {
  const { relayOnly, publicAddress, ipv6 } = config;
  const told = new Map<string, Candidate>();
  for (const candidate of candidates) {
    if (relayOnly && candidate.type !== 'relay') continue;
    if (!ipv6 && isIPv6(candidate.address)) continue;
    const { type } = candidate;
    // Behind a NAT the machine's own addresses are of no use to anybody, and none of their business.
    const isBehind =
      publicAddress !== undefined && type === 'host' && isIP(publicAddress) === isIP(candidate.address);
    const address = isBehind ? publicAddress : candidate.address;
    told.set(`${type} ${address} ${candidate.port}`, { ...candidate, address });
  }
  return [...told.values()];
}

/** Whether a candidate of the peer's is tried. */
export function isReachable({ address, type }: Candidate, { relayOnly, ipv6 }: WebRtcConfig): boolean {
  if (!ipv6 && isIPv6(address)) return false;
  // In relay-only mode the native stack can reach this machine and nothing else: not that either.
  return !relayOnly || type === 'relay' || !isLoopback(address);
}
