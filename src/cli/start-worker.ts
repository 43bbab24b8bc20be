/**
 * One worker of `start --workers`: the gateway of `start`, with the port in another process.
 *
 * @module
 */

import { realClock } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import { beginWorker } from '../workers/index.ts';
import { compose } from './compose.ts';
import { EXIT } from './exit-codes.ts';
import type { StartWorkersFlags } from './start-workers.ts';

const { slot, isFirst, setup, drained, send } = await beginWorker(realClock);
try {
  // What `start-workers.ts` has sent.
  const { config } = setup as Pick<StartWorkersFlags, 'config'>;
  const { host, port } = slot.address;
  const gateway = await compose({
    ...(config === undefined ? {} : { config }),
    host,
    port,
    worker: { slot, isFirst },
  });
  send({ kind: 'ready', facts: gateway.facts });
  await drained;
  await gateway.close();
  process.exit(EXIT.ok);
} catch (error) {
  const code = isVoiceError(error) ? error.code : null;
  const message = error instanceof Error ? error.message : String(error);
  // Sent before this process ends.
  process.send?.({ kind: 'failed', code, message }, () => process.exit(EXIT.failed));
}
