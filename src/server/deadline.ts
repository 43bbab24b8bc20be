import type { Clock } from '../clock.ts';

/** The result of `work`, or a rejection with `late()` once `ms` have passed; the work itself goes on. */
export function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => reject(late()), ms);
    work.then(
      (value) => {
        timer.clear();
        resolve(value);
      },
      (error: unknown) => {
        timer.clear();
        reject(error);
      },
    );
  });
}
