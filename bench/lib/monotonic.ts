/**
 * One clock for several processes: microseconds of the machine's monotonic clock, so that a stamp written by one
 * process can be subtracted in another.
 *
 * @module
 */

const baseUs = Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;

export const nowUs = (): number => baseUs + performance.now() * 1000;
