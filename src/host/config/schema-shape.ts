/** What a zod schema says of itself, for naming keys and allowed values in words. */

import { z } from 'zod';

/** The schema inside `default`, `prefault`, `optional` and `nullable`. */
export function unwrap(schema: unknown): unknown {
  let current = schema;
  while (
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodOptional ||
    current instanceof z.ZodNullable
  ) {
    current = current.unwrap();
  }
  return current;
}

/** The keys of an object schema, or `null` when it is none. */
export function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | null {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : null;
}

/** The schema of what lies at `key`. */
export function childOf(schema: unknown, key: string | number): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return inner.shape[key];
  if (inner instanceof z.ZodArray) return inner.element;
  if (inner instanceof z.ZodRecord) return inner.valueType;
  return undefined;
}

const camelCase = (key: string) =>
  key.replace(/_+([a-z0-9])/gi, (_whole, letter: string) => letter.toUpperCase());

/**
 * Renames snake_case keys to the camelCase ones that the schema knows. Keys that it doesn't know, and everything
 * inside a map of the user's own names, stay as they are.
 *
 * @param onTwice - called with the path of a key that is given in both spellings
 */
export function normaliseKeys(
  value: unknown,
  schema: unknown,
  onTwice: (path: readonly (string | number)[]) => void,
  path: readonly (string | number)[] = [],
): unknown {
  const inner = unwrap(schema);
  if (Array.isArray(value)) {
    if (!(inner instanceof z.ZodArray)) return value;
    return value.map((item, index) => normaliseKeys(item, inner.element, onTwice, [...path, index]));
  }
  if (typeof value !== 'object' || value === null || !(inner instanceof z.ZodObject)) return value;
  const known = new Set(Object.keys(inner.shape));
  const result = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    const camel = camelCase(key);
    const name = !known.has(key) && known.has(camel) ? camel : key;
    if (name !== key && Object.hasOwn(value, name)) {
      onTwice([...path, key]);
      continue;
    }
    result.set(name, normaliseKeys(item, inner.shape[name], onTwice, [...path, name]));
  }
  return Object.fromEntries(result);
}
