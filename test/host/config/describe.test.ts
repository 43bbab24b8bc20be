import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeIssues } from '../../../src/host/config/describe.ts';
import { normaliseKeys } from '../../../src/host/config/schema-shape.ts';

const schema = z.strictObject({
  shape: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('circle'), lineWidth: z.number().min(1) }),
      z.strictObject({ kind: z.literal('square'), sideLength: z.number() }),
    ])
    .optional(),
  code: z
    .string()
    .regex(/^\d{4}$/, '4 digits')
    .optional(),
  limits: z
    .strictObject({ low: z.number().default(1), high: z.number().default(9) })
    .prefault({})
    .superRefine(({ low, high }, context) => {
      if (low > high) context.addIssue({ code: 'custom', path: ['low'], message: 'must not be above high' });
    }),
  weights: z.record(z.string().min(1), z.int()).default({}),
});

function lines(input: unknown): string[] {
  const value = normaliseKeys(input, schema, () => {});
  const result = schema.safeParse(value);
  return describeIssues(result.error?.issues ?? [], { schema, value, root: ['x'], expanded: new Set() });
}

describe('what is wrong with a config, in words', () => {
  it('follows a union along the branch that the config names', () => {
    expect(lines({ shape: { kind: 'circle', line_width: 0 } })).toEqual([
      'x.shape.lineWidth: found 0; allowed: a number, 1 or more',
    ]);
    expect(lines({ shape: { kind: 'square', sideLenght: 1, sideLength: 2 } })).toEqual([
      'x.shape.sideLenght: unknown key; did you mean "sideLength"? Known here: kind, sideLength',
    ]);
    expect(lines({ shape: { kind: 'square', side_length: 2 } })).toEqual([]);
  });

  it('names the branches where the config names none of them', () => {
    expect(lines({ shape: { kind: 'sqare' } })).toEqual([
      'x.shape.kind: found "sqare"; allowed: one of "circle", "square"; did you mean "square"?',
    ]);
    expect(lines({ shape: { kind: 7 } })).toEqual([
      'x.shape.kind: found 7; allowed: one of "circle", "square"',
    ]);
  });

  it("uses the schema's own words where it has some", () => {
    expect(lines({ code: '12' })).toEqual(['x.code: found text of 2 characters; allowed: 4 digits']);
    expect(lines({ limits: { low: 10 } })).toEqual(['x.limits.low: must not be above high']);
  });

  it('names the entry of a map', () => {
    expect(lines({ weights: { snake_case: 'x' } })).toEqual([
      'x.weights.snake_case: found text of 1 characters; allowed: a whole number',
    ]);
    expect(lines({ weights: { '': 1 } })).toEqual([expect.stringMatching(/^x\.weights\.""/)]);
  });
});
