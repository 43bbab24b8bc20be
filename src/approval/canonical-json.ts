/**
 * One text for one set of arguments, whatever order a model wrote its keys in: RFC 8785 (JSON canonicalisation). Its
 * SHA-256 is what an approval is bound to.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { VoiceError } from '../errors.ts';

/** Longest canonical text of a call's arguments that can be approved. */
export const MAX_ARGS_CHARS = 200_000;
/** Deepest nesting. */
export const MAX_ARGS_DEPTH = 64;

/**
 * @throws VoiceError `REQUEST_INVALID` for what JSON can't hold (a function, a cycle, NaN, a lone surrogate) or is too
 * large: what can't be written down exactly can't be approved
 */
export function canonicalJson(value: unknown): string {
  const text = write(value, 0);
  if (text.length > MAX_ARGS_CHARS) throw invalid('are too long to be approved');
  return text;
}

function write(value: unknown, depth: number): string {
  if (depth > MAX_ARGS_DEPTH) throw invalid('are nested too deeply');
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw invalid('hold text that is no Unicode');
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'number':
      if (!Number.isFinite(value)) throw invalid('hold a number that JSON can not write');
      // ECMAScript's own number text is what RFC 8785 asks for.
      return JSON.stringify(value);
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return `[${value.map((each) => write(each, depth + 1)).join(',')}]`;
      return writeObject(value, depth);
    default:
      throw invalid('hold something that JSON can not write');
  }
}

function writeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw invalid('hold an object that is no plain data');
  // Sorted by UTF-16 code units, as RFC 8785 (3.2.3) has it, which is what `sort` does.
  const members = Object.keys(value)
    .sort()
    .map((key) => `${write(key, depth + 1)}:${write(Reflect.get(value, key), depth + 1)}`);
  return `{${members.join(',')}}`;
}

/** SHA-256 of a text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

const invalid = (what: string) => new VoiceError('REQUEST_INVALID', `The arguments ${what}.`);

/**
 * The arguments of a call as an object, from an object or the JSON text that a model emitted.
 *
 * @throws VoiceError `REQUEST_INVALID`: nothing that isn't an object can be approved
 */
export function argumentsObject(args: unknown): Readonly<Record<string, unknown>> {
  let value = args;
  if (typeof value === 'string') {
    const text = value.trim();
    if (text.length > 4 * MAX_ARGS_CHARS) throw invalid('are too long to be approved');
    try {
      value = text === '' ? {} : JSON.parse(text);
    } catch (cause) {
      throw new VoiceError('REQUEST_INVALID', 'The arguments are not JSON.', { cause });
    }
  }
  value ??= {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('are no object');
  return value as Readonly<Record<string, unknown>>;
}
