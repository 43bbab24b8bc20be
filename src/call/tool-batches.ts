/**
 * Calls of one response are a batch: the model may speak of them once each has its output and the response is complete.
 *
 * Pure.
 *
 * @module
 */

/** Batches in a row without a word from the caller; a model that loops gets one error to speak about, then silence. */
export const MAX_ROUNDS_WITHOUT_CALLER = 12;
/** Ids remembered of calls, and of responses that are complete. */
export const MAX_SEEN_IDS = 1024;

/** Every call of a batch has its output: the model may speak about it. `interrupted`: the caller cut it short. */
export interface BatchDone {
  readonly type: 'continue';
  readonly responseId: string;
  readonly interrupted: boolean;
}

interface Batch {
  open: number;
  total: number;
  responseDone: boolean;
  interrupted: boolean;
  /** A call of it is to be spoken of whatever the caller has moved on to. */
  delivers: boolean;
}

export class ToolBatches {
  readonly #batches = new Map<string, Batch>();
  readonly #doneResponses = new Set<string>();
  #rounds = 0;

  get size(): number {
    return this.#batches.size;
  }

  /** The model has worked for long without a word from the caller. */
  get isLooping(): boolean {
    return this.#rounds >= MAX_ROUNDS_WITHOUT_CALLER;
  }

  callerSpoke(): void {
    this.#rounds = 0;
  }

  /** @returns how many calls the response has made, with this one */
  opened(responseId: string): number {
    let batch = this.#batches.get(responseId);
    if (!batch) {
      const responseDone = this.#doneResponses.has(responseId);
      batch = { open: 0, total: 0, responseDone, interrupted: false, delivers: false };
      this.#batches.set(responseId, batch);
    }
    batch.open++;
    batch.total++;
    return batch.total;
  }

  /** A call of it has its output, or needs none any more. */
  closed(responseId: string): BatchDone[] {
    const batch = this.#batches.get(responseId);
    if (!batch) return [];
    batch.open--;
    return this.#settle(responseId, batch);
  }

  /** @param cancelled - the caller or we cut the response short */
  responseDone(responseId: string, cancelled: boolean): BatchDone[] {
    // Some models send a call after the end of its response; it is run all the same, as a batch of its own.
    remember(this.#doneResponses, responseId);
    const batch = this.#batches.get(responseId);
    if (!batch) return [];
    batch.responseDone = true;
    batch.interrupted ||= cancelled;
    return this.#settle(responseId, batch);
  }

  /** The caller interrupts all but one. */
  interrupted(except: string | undefined): void {
    for (const [responseId, batch] of this.#batches) batch.interrupted ||= responseId !== except;
  }

  /** Its outcome is spoken of, whatever comes in between. */
  delivers(responseId: string): void {
    const batch = this.#batches.get(responseId);
    if (batch) batch.delivers = true;
  }

  clear(): void {
    this.#batches.clear();
  }

  #settle(responseId: string, batch: Batch): BatchDone[] {
    if (batch.open > 0 || !batch.responseDone) return [];
    this.#batches.delete(responseId);
    if (batch.total === 0) return [];
    this.#rounds++;
    // After the round that told it to speak, a model that still calls is not asked again: it would never end.
    if (this.#rounds > MAX_ROUNDS_WITHOUT_CALLER + 1) return [];
    return [{ type: 'continue', responseId, interrupted: batch.interrupted && !batch.delivers }];
  }
}

/** Keeps the newest ids. */
export function remember(set: Set<string>, id: string): void {
  set.add(id);
  if (set.size <= MAX_SEEN_IDS) return;
  const oldest = set.values().next().value;
  if (oldest !== undefined) set.delete(oldest);
}
