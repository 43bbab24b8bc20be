import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonFault } from '../../../src/host/config/json-position.ts';
import { editDistance, nearestName } from '../../../src/host/config/nearest.ts';

describe('the nearest name', () => {
  it.each([
    ['prot', 'port'],
    ['publicurl', 'publicUrl'],
    ['public-url', 'publicUrl'],
    ['maxcals', 'maxCalls'],
    ['timeout', null],
    ['x', null],
    ['p'.repeat(10_000), null],
  ])('of %s is %s', (name, nearest) => {
    expect(nearestName(name, ['port', 'publicUrl', 'maxCalls', 'host'])).toBe(nearest);
  });

  it('is measured the same both ways, and is nought for equal names only', () => {
    const word = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('the place where JSON is broken', () => {
  it('is found exactly when the platform finds the text broken', () => {
    const json = fc.json({ maxDepth: 3 });
    const cut = fc.tuple(json, fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, put]) => {
      const where = at % (text.length + 1);
      return text.slice(0, where) + put + text.slice(where + 1);
    });
    fc.assert(
      fc.property(fc.oneof(json, cut), (text) => {
        let ok = true;
        try {
          JSON.parse(text);
        } catch {
          ok = false;
        }
        expect(findJsonFault(text) === null).toBe(ok);
      }),
      { numRuns: 3000 },
    );
  });
});
