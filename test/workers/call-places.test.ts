import { describe, expect, it } from 'vitest';
import { CallPlaces, MAX_PLACED_CALLS } from '../../src/workers/call-places.ts';

describe('the places of calls', () => {
  it('has one bound for all workers, and a worker that dies gives back what it had', () => {
    const places = new CallPlaces(3);
    expect([places.take(0), places.take(0), places.take(1), places.take(1)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    places.free(0);
    expect(places.taken).toBe(1);
    expect([places.take(1), places.take(1), places.take(1)]).toEqual([true, true, false]);
    places.release(0);
    expect(places.taken).toBe(3);
    places.release(1);
    expect(places.take(0)).toBe(true);
  });

  it('chooses the worker with the fewest calls, those that are on their way among them', () => {
    const places = new CallPlaces(100);
    places.take(0);
    expect(places.freest([0, 1])).toBe(1);
    places.expect(1);
    places.expect(1);
    expect(places.freest([0, 1])).toBe(0);
    places.take(1);
    expect(places.lines(1)).toBe(1);
    places.settle();
    expect(places.freest([1, 0])).toBe(1);
    expect(places.freest([])).toBeNull();
  });

  it('remembers a call until its worker dies, and no more calls than its bound', () => {
    const places = new CallPlaces(1);
    places.put('CA01', 1);
    places.put('CA02', 0);
    places.free(1);
    expect([places.of('CA01'), places.of('CA02')]).toEqual([null, 0]);
    for (let index = 0; index <= MAX_PLACED_CALLS; index += 1) places.put(`n${index}`, 1);
    expect(places.size).toBe(MAX_PLACED_CALLS);
    expect([places.of('CA02'), places.of('n0'), places.of('n1')]).toEqual([null, null, 1]);
  });
});
