/** What a zod schema says of itself, for naming keys and allowed values in words. */

import { z } from 'zod';

/**
 * The schema that judges a value: inside `default`, `prefault`, `optional` and `nullable`, and of a union the
 * branch that the value's own discriminator names.
 */
export function unwrap(schema: unknown, value?: unknown): unknown {
  let current = schema;
  while (
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodOptional ||
    current instanceof z.ZodNullable
  ) {
    current = current.unwrap();
  }
  return current instanceof z.ZodDiscriminatedUnion ? (branchOf(current, value) ?? current) : current;
}

function branchOf(union: z.ZodDiscriminatedUnion, value: unknown): unknown {
  const named = property(value, union.def.discriminator);
  return union.options.find((option) =>
    literalAt(option, union.def.discriminator)?.values.has(named as string),
  );
}

function literalAt(schema: unknown, key: string): z.ZodLiteral | null {
  const found = schema instanceof z.ZodObject ? schema.shape[key] : null;
  return found instanceof z.ZodLiteral ? found : null;
}

export function property(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
}

/** The keys that an object may have here, or `null` when no object belongs here. */
export function shapeOf(schema: unknown, value: unknown): Readonly<Record<string, unknown>> | null {
  const inner = unwrap(schema, value);
  return inner instanceof z.ZodObject ? inner.shape : null;
}

/** What a text may be where only a few are allowed; empty elsewhere. */
export function choicesOf(schema: unknown): string[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodLiteral) return [...inner.values].map(String);
  return inner instanceof z.ZodEnum ? inner.options.map(String) : [];
}

/** The schema of what lies at `path` below `schema`, for this `value`. */
export function schemaAt(schema: unknown, value: unknown, path: readonly (string | number)[]): unknown {
  const [key, ...rest] = path;
  return key === undefined ? schema : schemaAt(childOf(schema, value, key), property(value, key), rest);
}

function childOf(schema: unknown, value: unknown, key: string | number): unknown {
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodObject) return inner.shape[key];
  if (inner instanceof z.ZodArray) return inner.element;
  if (inner instanceof z.ZodRecord) return inner.valueType;
  // No branch is named rightly, so all that can be said is which names there are.
  if (inner instanceof z.ZodDiscriminatedUnion && key === inner.def.discriminator) {
    return z.enum(inner.options.flatMap((option) => choicesOf(literalAt(option, String(key)))));
  }
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
  const inner = unwrap(schema, value);
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
