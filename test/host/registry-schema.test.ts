import { describe, expect, it } from 'vitest';
import { castObject } from '../../src/host/registry-cast.ts';
import { pythonText, pythonTypeName } from '../../src/host/registry-python.ts';
import type { Schema } from '../../src/host/registry-schema.ts';
import { validateValue } from '../../src/host/registry-validate.ts';

const property = (schema: Schema): Schema => ({ type: 'object', properties: { x: schema } });
const cast = (value: unknown, schema: Schema) => castObject({ x: value }, property(schema)).x;
const errors = (value: unknown, schema: Schema) => validateValue({ x: value }, property(schema));

describe('casting arguments', () => {
  it.each([
    ['5', 'integer', 5],
    [' -5 ', 'integer', -5],
    ['1_000', 'integer', 1000],
    ['5.0', 'integer', '5.0'],
    ['abc', 'integer', 'abc'],
    ['', 'integer', ''],
    ['99999999999999999999', 'integer', '99999999999999999999'],
    ['2.5', 'number', 2.5],
    ['.5', 'number', 0.5],
    ['1e3', 'number', 1000],
    ['nan', 'number', 'nan'],
    ['Infinity', 'number', 'Infinity'],
    ['true', 'boolean', true],
    ['YES', 'boolean', true],
    ['1', 'boolean', true],
    ['no', 'boolean', false],
    ['0', 'boolean', false],
    ['maybe', 'boolean', 'maybe'],
    [1, 'boolean', 1],
    [5, 'string', '5'],
    [true, 'string', 'True'],
    [null, 'string', null],
    [['a', "it's"], 'string', `['a', "it's"]`],
    [{ a: null }, 'string', "{'a': None}"],
  ])('makes of %j as %s: %j', (value, type, expected) => {
    expect(cast(value, { type })).toEqual(expected);
  });

  it('goes into arrays and objects, and leaves what no schema names', () => {
    expect(cast(['1', '2'], { type: 'array', items: { type: 'integer' } })).toEqual([1, 2]);
    expect(cast({ n: '1', other: '2' }, { type: 'object', properties: { n: { type: 'integer' } } })).toEqual({
      n: 1,
      other: '2',
    });
    expect(cast({ any: '2' }, { type: 'object', additionalProperties: { type: 'integer' } })).toEqual({
      any: 2,
    });
    expect(cast('5', { type: ['integer', 'null'] })).toBe(5);
  });
});

describe('validating arguments', () => {
  it.each<[unknown, Schema, string[]]>([
    ['a', { type: 'integer' }, ['x should be integer']],
    [1.5, { type: 'integer' }, ['x should be integer']],
    [true, { type: 'integer' }, ['x should be integer']],
    [true, { type: 'number' }, ['x should be number']],
    [1, { type: 'string' }, ['x should be string']],
    [null, { type: 'string' }, ['x should be string']],
    [null, { type: ['string', 'null'] }, []],
    [null, { type: 'string', nullable: true }, []],
    ['a', { type: 'boolean' }, ['x should be boolean']],
    ['a', { type: 'array' }, ['x should be array']],
    [[], { type: 'object' }, ['x should be object']],
    [0, { type: 'integer', minimum: 1 }, ['x must be >= 1']],
    [9, { type: 'integer', maximum: 8 }, ['x must be <= 8']],
    ['', { type: 'string', minLength: 1 }, ['x must be at least 1 chars']],
    ['ab', { type: 'string', maxLength: 1 }, ['x must be at most 1 chars']],
    [[], { type: 'array', minItems: 1 }, ['x must have at least 1 items']],
    [[1, 2], { type: 'array', maxItems: 1 }, ['x must be at most 1 items']],
    [['a', 1], { type: 'array', items: { type: 'string' } }, ['x[1] should be string']],
    ['c', { type: 'string', enum: ['a', 'b'] }, ["x must be one of ['a', 'b']"]],
    [{}, { type: 'object', required: ['y'] }, ['missing required x.y']],
    [{ z: 1 }, { type: 'object', additionalProperties: false }, ['unexpected parameter x.z']],
    [{ z: 1 }, { type: 'object', additionalProperties: { type: 'string' } }, ['x.z should be string']],
    [{ toString: 1 }, { type: 'object', additionalProperties: false }, ['unexpected parameter x.toString']],
    [{ anything: 1 }, { type: 'object' }, []],
  ])('says of %j against %j: %j', (value, schema, expected) => {
    expect(errors(value, schema)).toEqual(expected);
  });

  it('does not take an inherited name for a given one', () => {
    expect(validateValue({}, { type: 'object', required: ['toString'] })).toEqual([
      'missing required toString',
    ]);
  });
});

describe("Python's words", () => {
  it.each([
    [null, 'NoneType'],
    [undefined, 'NoneType'],
    ['a', 'str'],
    [true, 'bool'],
    [1, 'int'],
    [1.5, 'float'],
    [[], 'list'],
    [{}, 'dict'],
  ])('call %j a %s', (value, name) => {
    expect(pythonTypeName(value)).toBe(name);
  });

  it('show nested values as repr does', () => {
    expect(pythonText({ a: [1, 'b\n"'], c: { d: false } })).toBe(`{'a': [1, 'b\\n"'], 'c': {'d': False}}`);
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    expect(pythonText(deep)).toContain('...');
  });
});
