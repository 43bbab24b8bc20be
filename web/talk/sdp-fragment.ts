/**
 * Trickled candidates as WHIP sends them (RFC 8840, section 9).
 *
 * @module
 */

export interface Candidate {
  readonly candidate: string;
  readonly sdpMid: string | null;
}

/**
 * @param offer - the SDP that the candidates belong to
 * @param isLast - no candidate will follow
 */
export function sdpFragment(offer: string, candidates: readonly Candidate[], isLast: boolean): string {
  const line = (pattern: RegExp) => pattern.exec(offer)?.[0] ?? '';
  const mid = line(/^a=mid:.*$/m);
  const lines = [
    line(/^a=ice-ufrag:.*$/m),
    line(/^a=ice-pwd:.*$/m),
    line(/^m=.*$/m),
    mid,
    // All of them travel on the first m-line: one transport for everything.
    ...candidates.map(({ candidate }) => `a=${candidate}`),
    ...(isLast ? ['a=end-of-candidates'] : []),
  ];
  return `${lines.map((each) => each.trim()).join('\r\n')}\r\n`;
}
