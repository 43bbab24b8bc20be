/**
 * The body of a trickle `PATCH` (RFC 8840): candidates, the credentials of the ICE session that they belong to, and
 * whether more will come.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';
import type { Candidate } from './candidate.ts';
import { type IceCredentials, readCandidates } from './sdp.ts';

/** Longest body, in characters. */
export const MAX_FRAGMENT_CHARS = 16_384;

export interface Fragment {
  /** Of the client's ICE session; a client that has nothing to say of it leaves both out. */
  readonly ice: Partial<IceCredentials>;
  readonly candidates: readonly Candidate[];
  readonly ended: boolean;
}

/** @throws VoiceError `WEBRTC_FRAGMENT_INVALID` */
export function parseFragment(body: string): Fragment {
  if (body.length > MAX_FRAGMENT_CHARS) throw invalid(`is longer than ${MAX_FRAGMENT_CHARS} characters`);
  let ufrag: string | undefined;
  let pwd: string | undefined;
  let ended = false;
  const candidates: string[] = [];
  for (const raw of body.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === '') continue;
    if (!/^[a-z]=/.test(line)) throw invalid('is not made of SDP lines');
    if (line.startsWith('a=ice-ufrag:')) ufrag ??= line.slice(12);
    else if (line.startsWith('a=ice-pwd:')) pwd ??= line.slice(10);
    else if (line === 'a=end-of-candidates') ended = true;
    else if (line.startsWith('a=candidate:')) {
      // A browser's last candidate is an empty one.
      if (line === 'a=candidate:') ended = true;
      else candidates.push(line);
    }
  }
  const ice = { ...(ufrag !== undefined && { ufrag }), ...(pwd !== undefined && { pwd }) };
  return { ice, candidates: readCandidates(candidates), ended };
}

function invalid(what: string): VoiceError {
  return new VoiceError('WEBRTC_FRAGMENT_INVALID', `The body ${what}.`);
}
