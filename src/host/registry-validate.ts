/**
 * Validation of arguments, with the messages nanobot gives for each way to be wrong.
 *
 * @module
 */

import { isJsonObject } from './registry-arguments.ts';
import { pythonRepr } from './registry-python.ts';
import { additionalSchema, isNullable, propertySchema, type Schema, schemaType } from './registry-schema.ts';

const subpath = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);

function hasType(value: unknown, type: string | null): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    default:
      return true;
  }
}

function sizeErrors(label: string, schema: Schema, value: unknown): string[] {
  const errors: string[] = [];
  const limit = (key: string, broken: (bound: number) => boolean, message: (bound: number) => string) => {
    const bound = schema[key];
    if (typeof bound === 'number' && broken(bound)) errors.push(`${label} ${message(bound)}`);
  };
  if (typeof value === 'number') {
    limit(
      'minimum',
      (bound) => value < bound,
      (bound) => `must be >= ${bound}`,
    );
    limit(
      'maximum',
      (bound) => value > bound,
      (bound) => `must be <= ${bound}`,
    );
  } else if (typeof value === 'string') {
    limit(
      'minLength',
      (bound) => value.length < bound,
      (bound) => `must be at least ${bound} chars`,
    );
    limit(
      'maxLength',
      (bound) => value.length > bound,
      (bound) => `must be at most ${bound} chars`,
    );
  } else if (Array.isArray(value)) {
    limit(
      'minItems',
      (bound) => value.length < bound,
      (bound) => `must have at least ${bound} items`,
    );
    limit(
      'maxItems',
      (bound) => value.length > bound,
      (bound) => `must be at most ${bound} items`,
    );
  }
  return errors;
}

function objectErrors(value: Schema, schema: Schema, path: string): string[] {
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const errors = required
    .filter((key): key is string => typeof key === 'string' && !Object.hasOwn(value, key))
    .map((key) => `missing required ${subpath(path, key)}`);
  for (const [key, each] of Object.entries(value)) {
    const property = propertySchema(schema, key) ?? additionalSchema(schema);
    if (property === false) errors.push(`unexpected parameter ${subpath(path, key)}`);
    else if (property !== null) errors.push(...validateValue(each, property, subpath(path, key)));
  }
  return errors;
}

/** What is wrong with `value`; an empty list when nothing is. `path` names it in the messages. */
export function validateValue(value: unknown, schema: Schema, path = ''): string[] {
  const label = path === '' ? 'parameter' : path;
  if (isNullable(schema) && value === null) return [];
  const type = schemaType(schema);
  if (!hasType(value, type)) return [`${label} should be ${type}`];
  const errors: string[] = [];
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) {
    errors.push(`${label} must be one of ${pythonRepr(schema.enum)}`);
  }
  errors.push(...sizeErrors(label, schema, value));
  if (type === 'object' && isJsonObject(value)) errors.push(...objectErrors(value, schema, path));
  const items = schema.items;
  if (Array.isArray(value) && isJsonObject(items)) {
    value.forEach((each, index) => {
      errors.push(...validateValue(each, items, `${path}[${index}]`));
    });
  }
  return errors;
}
