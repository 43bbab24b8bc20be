/**
 * A client's mistake → the `error` the real server answers with.
 *
 * @module
 */

import type { z } from 'zod';
import { CLIENT_EVENT_TYPES } from './client-event-schema.ts';

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/** The first thing wrong with a message, in the server's words. */
export function refusalOf(error: z.ZodError, input: unknown): Refusal {
  const issue = deepest(error.issues);
  const param = paramOf(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const key = paramOf([...issue.path, issue.keys[0] ?? '']);
      return { code: 'unknown_parameter', message: `Unknown parameter: '${key}'.`, param: key };
    }
    case 'invalid_type':
    case 'invalid_union':
    case 'invalid_value': {
      const value = valueAt(input, issue.path);
      if (value === undefined) {
        return {
          code: 'missing_required_parameter',
          message: `Missing required parameter: '${param}'.`,
          param,
        };
      }
      if (issue.code === 'invalid_type') {
        const message = `Invalid type for '${param}': expected ${expectation(issue.expected)}, but got ${description(value)} instead.`;
        return { code: 'invalid_type', message, param };
      }
      const values = issue.code === 'invalid_value' ? issue.values.map((each) => `'${String(each)}'`) : [];
      const supported = values.length > 0 ? ` Supported values are: ${values.join(', ')}.` : '';
      return { code: 'invalid_value', message: `Invalid value: '${String(value)}'.${supported}`, param };
    }
    default:
      return { code: 'invalid_value', message: `Invalid value for '${param}'.`, param };
  }
}

/** Unions report every alternative; the one that got furthest is what the client meant. */
function deepest(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const first = issues[0];
  if (first === undefined) throw new Error('a failed parse has an issue');
  if (first.code !== 'invalid_union' || first.errors.length === 0) return first;
  const nested = first.errors.flat().map((issue) => ({ ...issue, path: [...first.path, ...issue.path] }));
  return nested.reduce<z.core.$ZodIssue>(
    (best, issue) => (issue.path.length > best.path.length ? issue : best),
    nested[0] ?? first,
  );
}

function paramOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function expectation(expected: string): string {
  switch (expected) {
    case 'int':
    case 'number':
      return 'an integer';
    case 'array':
      return 'an array';
    case 'object':
    case 'record':
      return 'an object';
    default:
      return `a ${expected}`;
  }
}

function description(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A message of no type, or of one that does not exist. */
export function unknownType(json: unknown): Refusal | null {
  const type = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
  if (type === undefined) {
    return {
      code: 'missing_required_parameter',
      message: "Missing required parameter: 'type'.",
      param: 'type',
    };
  }
  if (CLIENT_EVENT_TYPES.some((known) => known === type)) return null;
  const known = CLIENT_EVENT_TYPES.map((each) => `'${each}'`).join(', ');
  return {
    code: 'invalid_value',
    message: `Invalid value: '${String(type)}'. Supported values are: ${known}.`,
    param: 'type',
  };
}

export function missingItem(stem: string, verb: string, id: string): Refusal {
  return {
    code: `item_${verb}_invalid_item_id`,
    message: `Error ${stem}ing item: the item with id '${id}' does not exist.`,
    param: 'item_id',
  };
}

export function eventIdOf(event: unknown): string | null {
  if (typeof event !== 'object' || event === null || !('event_id' in event)) return null;
  return typeof event.event_id === 'string' ? event.event_id : null;
}
