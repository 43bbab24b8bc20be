import type { Store, TurnRow } from '../../store/index.ts';
import type { Sessions } from './sessions.ts';

/** Turns that are looked at in one go. */
export const PROJECTION_PAGE = 200;

/**
 * Brings the session files up to date with the store: each final turn is there once, however often this runs and
 * wherever it was cut off (the file first, then the mark that it is there).
 *
 * @returns how many turns were looked at
 * @throws VoiceError `STORE_UNAVAILABLE`, `HOST_UNAVAILABLE`
 */
export async function projectTurns(store: Store, sessions: Sessions): Promise<number> {
  let count = 0;
  for (;;) {
    const page = await store.listUnprojectedTurns(PROJECTION_PAGE);
    for (const turns of bySession(page)) {
      const key = turns[0]?.sessionKey;
      if (key !== undefined) await sessions.project(key, turns);
    }
    await store.markProjected(page.map(({ callId, turn }) => ({ callId, turn })));
    count += page.length;
    if (page.length < PROJECTION_PAGE) return count;
  }
}

function bySession(turns: readonly TurnRow[]): TurnRow[][] {
  return [...Map.groupBy(turns, (turn) => turn.sessionKey).values()];
}
