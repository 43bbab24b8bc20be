/**
 * From what a model emitted to a tool's arguments: JSON text, `null`, a doubly wrapped `{"arguments": …}`.
 *
 * @module
 */

import type { JsonSchema } from '../gateway/index.ts';

/** Longest JSON text that is parsed; a longer one is refused before it costs anything. */
export const MAX_ARGUMENTS_CHARS = 4_000_000;

/** True for what JSON calls an object. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function coerceValue(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (text === '') return {};
  if (!text.startsWith('{') && !text.startsWith('[')) return value;
  try {
    return JSON.parse(text);
  } catch {
    return value;
  }
}

/** What the tool gets if it is an object; anything else is for the registry to refuse. */
export function coerceArguments(parameters: JsonSchema, args: unknown): unknown {
  const value = coerceValue(args);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length !== 1 || keys[0] !== 'arguments') return value;
  const properties = parameters.properties;
  if (isJsonObject(properties) && Object.hasOwn(properties, 'arguments')) return value;
  return coerceValue(value.arguments);
}
