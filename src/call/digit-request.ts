/**
 * One entry of keys for whoever asks: a PIN, a choice in a menu.
 *
 * @module
 */

import { DigitCollector, type DigitConsumer, type DigitConsumers, MAX_ENTRY_DIGITS } from './dtmf.ts';

export interface DigitRequest {
  /** The entry is complete with so many. @defaultValue `MAX_ENTRY_DIGITS` */
  readonly maxDigits?: number;
  /** Longest wait for the entry, in ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export function collectDigits(
  consumers: DigitConsumers,
  { maxDigits = MAX_ENTRY_DIGITS, timeoutMs, signal }: DigitRequest,
  now: number,
): Promise<string | null> {
  if (signal?.aborted) return Promise.resolve(null);
  return new Promise((resolve) => {
    const collector = new DigitCollector(maxDigits);
    const settle = (entry: string | null) => {
      remove?.();
      signal?.removeEventListener('abort', onAbort);
      resolve(entry);
    };
    const onAbort = () => settle(null);
    const consumer: DigitConsumer = {
      digit(digit, at) {
        const entry = collector.digit(digit, at);
        if (entry !== null) settle(entry);
        return true;
      },
      tick(at) {
        const entry = collector.tick(at);
        if (entry !== null || at - now >= timeoutMs) settle(entry);
      },
      closed: onAbort,
    };
    const remove = consumers.add(consumer);
    if (remove) signal?.addEventListener('abort', onAbort, { once: true });
    else resolve(null);
  });
}
