/**
 * ICE candidates (RFC 8839, section 5.1). Only those with an IP address over UDP are of use to us: names would have us
 * ask a name server on a stranger's behalf, and the stack speaks no ICE over TCP.
 *
 * @module
 */

import { isIP } from 'node:net';

export type CandidateType = 'host' | 'srflx' | 'prflx' | 'relay';

export interface Candidate {
  readonly foundation: string;
  readonly priority: number;
  readonly address: string;
  readonly port: number;
  readonly type: CandidateType;
}

const LONGEST_LINE = 400;
const LINE =
  /^(?:a=)?candidate:([A-Za-z0-9+/]{1,32}) ([12]) udp (\d{1,10}) ([0-9A-Fa-f.:]{2,45}) (\d{1,5}) typ (host|srflx|prflx|relay)(?: |$)/i;

/** `null` for what is no candidate, or none that we can use. What follows the type is not looked at. */
export function parseCandidate(line: string): Candidate | null {
  if (line.length > LONGEST_LINE) return null;
  const [, foundation, component, priority, address, port, type] = LINE.exec(line.trim()) ?? [];
  if (!foundation || component !== '1' || !address || isIP(address) === 0) return null;
  const kind = type?.toLowerCase();
  if (kind !== 'host' && kind !== 'srflx' && kind !== 'prflx' && kind !== 'relay') return null;
  const number = Number(port);
  const weight = Number(priority);
  if (number < 1 || number > 65_535 || weight > 2 ** 32 - 1) return null;
  return { foundation, priority: weight, address, port: number, type: kind };
}

/** Without a related address: nothing needs it, and it tells what a relay is to hide. */
export function formatCandidate({ foundation, priority, address, port, type }: Candidate): string {
  const related = type === 'host' ? '' : ` raddr ${isIP(address) === 6 ? '::' : '0.0.0.0'} rport 0`;
  return `candidate:${foundation} 1 UDP ${priority} ${address} ${port} typ ${type}${related}`;
}

export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || /^::ffff:127\./i.test(address);
}
