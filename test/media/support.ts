import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FullStore, TurnKey } from '../../src/store/index.ts';

export const PNG = readFileSync(new URL('../../assets/media/test-image.png', import.meta.url));

/** A call in the store with its first turn open. */
export async function beginTurn(
  store: FullStore,
  callId = randomBytes(16).toString('hex'),
  sessionKey = `realtime:${callId}`,
): Promise<TurnKey> {
  await store.beginCall({
    id: callId,
    sessionKey,
    carrier: 'wav',
    provider: 'command',
    identityStrength: 'none',
    startedAt: 1,
  });
  await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 1 });
  return { callId, turn: 1 };
}
