/**
 * Reading a request's body once, with a cap and a deadline; signatures are checked over these very bytes.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from './limits.ts';

/** @throws VoiceError `REQUEST_TOO_LARGE`, `REQUEST_TIMEOUT`, `REQUEST_INVALID` when the peer goes away */
export async function readBody(request: Request, clock: Clock): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > MAX_BODY_BYTES) throw tooLarge();
  if (!request.body) return new Uint8Array();

  const reader = request.body.getReader();
  let late = false;
  const timer = clock.setTimeout(() => {
    late = true;
    // Cancelling makes the read below come back as done.
    reader.cancel().catch(() => {});
  }, BODY_TIMEOUT_MS);
  try {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw new VoiceError('REQUEST_TIMEOUT', 'The body of the request did not arrive in time.');
      if (done) return Buffer.concat(chunks);
      length += value.byteLength;
      if (length > MAX_BODY_BYTES) throw tooLarge();
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    if (error instanceof VoiceError) throw error;
    throw new VoiceError('REQUEST_INVALID', 'The body of the request could not be read.', { cause: error });
  } finally {
    timer.clear();
  }
}

function tooLarge(): VoiceError {
  return new VoiceError('REQUEST_TOO_LARGE', `The body of a request has at most ${MAX_BODY_BYTES} bytes.`);
}
