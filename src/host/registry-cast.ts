/**
 * Safe casts by schema before validation: models send `"5"` for 5 and `"yes"` for true. A value that doesn't
 * cast stays as it is, and validation names it.
 *
 * @module
 */

import { isJsonObject } from './registry-arguments.ts';
import { pythonText } from './registry-python.ts';
import { additionalSchema, propertySchema, type Schema, schemaType } from './registry-schema.ts';

const INTEGER = /^\s*[+-]?\d+(?:_\d+)*\s*$/;
const FLOAT = /^\s*[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?\s*$/;
const TRUE_WORDS: ReadonlySet<string> = new Set(['true', '1', 'yes']);
const FALSE_WORDS: ReadonlySet<string> = new Set(['false', '0', 'no']);

function castInteger(text: string): unknown {
  if (!INTEGER.test(text)) return text;
  const value = Number(text.replaceAll('_', ''));
  return Number.isSafeInteger(value) ? value : text;
}

function castNumber(text: string): unknown {
  if (!FLOAT.test(text)) return text;
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? value : text;
}

function castBoolean(text: string): unknown {
  const word = text.toLowerCase();
  if (TRUE_WORDS.has(word)) return true;
  return FALSE_WORDS.has(word) ? false : text;
}

function castValue(value: unknown, schema: Schema): unknown {
  switch (schemaType(schema)) {
    case 'integer':
      return typeof value === 'string' ? castInteger(value) : value;
    case 'number':
      return typeof value === 'string' ? castNumber(value) : value;
    case 'boolean':
      return typeof value === 'string' ? castBoolean(value) : value;
    case 'string':
      return value === null || value === undefined ? value : pythonText(value);
    case 'array': {
      const items = schema.items;
      return Array.isArray(value) && isJsonObject(items)
        ? value.map((each) => castValue(each, items))
        : value;
    }
    case 'object':
      return isJsonObject(value) ? castObject(value, schema) : value;
    default:
      return value;
  }
}

/** A copy of `value` with every property cast by its schema. Own properties only, `__proto__` among them. */
export function castObject(value: Schema, schema: Schema): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const property = propertySchema(schema, key) ?? additionalSchema(schema);
      return [key, property ? castValue(each, property) : each];
    }),
  );
}
