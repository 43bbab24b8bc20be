/**
 * What the call is doing, in one word, for a caller who watches it; told only when it changes.
 *
 * Pure.
 *
 * @module
 */

import type { ShownState } from '../leg/index.ts';

/** What is looked at, in the order in which it counts. */
export interface CallActivity {
  readonly isEnding: boolean;
  readonly callerSpeaks: boolean;
  readonly isAsking: boolean;
  readonly agentSpeaks: boolean;
  readonly toolsRun: boolean;
  readonly isThinking: boolean;
}

export class ShownStateWatch {
  #last: ShownState | null = null;

  /** A new leg has seen nothing yet. */
  reset(): void {
    this.#last = null;
  }

  /** The state, when it is another one than before. */
  changed(activity: CallActivity): ShownState | null {
    const state = stateOf(activity);
    if (state === this.#last) return null;
    this.#last = state;
    return state;
  }
}

function stateOf(activity: CallActivity): ShownState {
  if (activity.isEnding) return 'ending';
  if (activity.callerSpeaks) return 'hearing';
  if (activity.isAsking) return 'asking';
  if (activity.agentSpeaks) return 'speaking';
  if (activity.toolsRun) return 'working';
  return activity.isThinking ? 'thinking' : 'listening';
}
