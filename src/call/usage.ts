/**
 * What the model's work comes to, per turn and in all, with its cost where the config has prices.
 *
 * Pure.
 *
 * @module
 */

import type { RealtimeConfig } from '../config.ts';
import type { ModelUsage } from '../model/index.ts';
import type { CallUsage, ModelWork } from '../observe/index.ts';

/** Turns whose work is kept apart; what follows is in the sum alone. */
export const MAX_USAGE_TURNS = 2000;

type Prices = RealtimeConfig['model']['prices'];
type Counted = { -readonly [K in keyof Omit<ModelWork, 'cost'>]: number };

const nothing = (): Counted => ({
  responses: 0,
  inputTokens: 0,
  inputAudioTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  outputAudioTokens: 0,
  seconds: 0,
});

export class UsageMeter {
  readonly #prices: Prices;
  readonly #isPriced: boolean;
  readonly #sum = nothing();
  readonly #turns = new Map<number, Counted>();
  #callerSpeechMs = 0;
  #agentSpeechMs = 0;

  constructor(prices: Prices) {
    this.#prices = prices;
    const { currency: _, ...amounts } = prices;
    this.#isPriced = Object.values(amounts).some((amount) => amount > 0);
  }

  /** A response of that turn is over. */
  response(turn: number, usage: ModelUsage = {}): void {
    const known = this.#turns.get(turn);
    const counted = known ?? nothing();
    if (!known && this.#turns.size < MAX_USAGE_TURNS) this.#turns.set(turn, counted);
    for (const each of [this.#sum, counted]) {
      each.responses++;
      each.inputTokens += usage.inputTokens ?? 0;
      each.inputAudioTokens += usage.inputAudioTokens ?? 0;
      each.cachedInputTokens += usage.cachedInputTokens ?? 0;
      each.outputTokens += usage.outputTokens ?? 0;
      each.outputAudioTokens += usage.outputAudioTokens ?? 0;
      each.seconds += usage.seconds ?? 0;
    }
  }

  callerSpoke(ms: number): void {
    this.#callerSpeechMs += ms;
  }

  agentSpoke(ms: number): void {
    this.#agentSpeechMs += ms;
  }

  build(): CallUsage {
    return {
      ...this.#priced(this.#sum),
      ...(this.#isPriced ? { currency: this.#prices.currency } : {}),
      callerSpeechMs: this.#callerSpeechMs,
      agentSpeechMs: this.#agentSpeechMs,
      turns: [...this.#turns].map(([turn, counted]) => ({ turn, ...this.#priced(counted) })),
    };
  }

  #priced(counted: Counted): ModelWork {
    return this.#isPriced ? { ...counted, cost: costOf(counted, this.#prices) } : { ...counted };
  }
}

/** Cached tokens are taken for text first: a provider does not say which of them were audio. */
function costOf(work: Counted, prices: Prices): number {
  const cached = Math.min(work.cachedInputTokens, work.inputTokens);
  const text = Math.max(0, work.inputTokens - work.inputAudioTokens);
  const cachedText = Math.min(cached, text);
  const millionths =
    (text - cachedText) * prices.inputText +
    Math.max(0, work.inputAudioTokens - (cached - cachedText)) * prices.inputAudio +
    cached * prices.inputCached +
    Math.max(0, work.outputTokens - work.outputAudioTokens) * prices.outputText +
    work.outputAudioTokens * prices.outputAudio;
  return millionths / 1e6 + (work.seconds / 60) * prices.minute;
}
