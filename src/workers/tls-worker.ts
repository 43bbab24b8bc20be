/**
 * One TLS process of `start --workers` with `server.tls`.
 *
 * @module
 */

import { realClock } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import { createLogger } from '../observe/index.ts';
import { TlsFiles } from '../tls-files.ts';
import { beginWorker } from './slot.ts';
import { LINGER_MS, Terminator } from './terminator.ts';
import type { TlsSetup } from './tls-port.ts';

const { slot, setup, drained, send } = await beginWorker(realClock);
try {
  // What `tls-port.ts` has sent.
  const { cert, key, inner, maxConnections, logLevel } = setup as TlsSetup;
  const terminator = new Terminator({ clock: realClock, inner, maxConnections });
  await terminator.serve(new TlsFiles({ cert, key }, realClock, createLogger(logLevel)));
  slot.onConnection((socket) => terminator.take(socket));
  send({ kind: 'ready', facts: null });
  await drained;
  // The workers are gone, and what they said last is on its way.
  realClock.setTimeout(() => process.exit(0), LINGER_MS);
  await terminator.idle();
  terminator.close();
  process.exit(0);
} catch (error) {
  const code = isVoiceError(error) ? error.code : null;
  const message = error instanceof Error ? error.message : String(error);
  // Sent before this process ends.
  process.send?.({ kind: 'failed', code, message }, () => process.exit(1));
}
