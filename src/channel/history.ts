/**
 * What a session held before, as the model is told it.
 *
 * @module
 */

import type { HistoryItem } from '../model/index.ts';
import type { Store } from '../store/index.ts';

/** The last `limit` things said on earlier calls of a session, oldest first. */
export async function historyOfTurns(
  store: Store,
  sessionKey: string,
  limit: number,
): Promise<HistoryItem[]> {
  const turns = await store.listTurns(sessionKey, limit);
  const items = turns.flatMap((turn): HistoryItem[] => [
    ...(turn.userText ? [{ role: 'user' as const, text: turn.userText }] : []),
    ...(turn.assistantText ? [{ role: 'assistant' as const, text: turn.assistantText }] : []),
  ]);
  return items.slice(-limit);
}
