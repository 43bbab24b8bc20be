import { type AudioData, audioDurationMs, bytesPerMs, silence } from '../../audio/index.ts';
import type { ApprovalFloor } from './floor.ts';

/** Audio of the caller's that was no decision and is kept for the model, at most. */
export const MAX_KEPT_MS = 15_000;
/** Behind each kept utterance, so that the model hears where it ends. */
const KEPT_GAP_MS = 700;

/** What the caller said while a prompt had the floor and was no decision: the model's, when the floor is given back. */
export class KeptAudio {
  readonly #format: ApprovalFloor['format'];
  #kept: AudioData[] = [];
  #keptMs = 0;

  constructor(format: ApprovalFloor['format']) {
    this.#format = format;
  }

  add(utterance: readonly AudioData[]): void {
    const ms = utterance.reduce((sum, audio) => sum + audioDurationMs(audio, this.#format), 0);
    if (utterance.length === 0 || this.#keptMs + ms > MAX_KEPT_MS) return;
    this.#keptMs += ms + KEPT_GAP_MS;
    this.#kept.push(...utterance, silence(KEPT_GAP_MS * bytesPerMs(this.#format), this.#format));
  }

  take(): readonly AudioData[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#keptMs = 0;
    return kept;
  }
}
