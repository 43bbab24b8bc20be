/** One clear line for each thing wrong with our section; never a secret, a number or a person's words in it. */

import { z } from 'zod';
import { nearestName } from './nearest.ts';
import { choicesOf, property, schemaAt, shapeOf } from './schema-shape.ts';
import { type ConfigPath, showPath } from './variables.ts';

/** Lines shown at most; a config that is wrong all over needs no more to be seen so. */
export const MAX_PROBLEM_LINES = 50;

const MAX_KEY_CHARS = 40;

const SECRET = /key|token|secret|password|pass|pin|auth|cred|url|sid|allowfrom|number|phone/i;

interface Context {
  readonly schema: z.ZodType;
  readonly value: unknown;
  readonly root: ConfigPath;
  /** Paths (with `root`) whose value came from the environment. */
  readonly expanded: ReadonlySet<string>;
}

/** A line per problem: path, what was found, what is allowed, the nearest right name. */
export function describeIssues(issues: readonly z.core.$ZodIssue[], context: Context): string[] {
  const lines = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey(toPath(issue.path), key, context))
      : [wrongValue(toPath(issue.path), issue, context)],
  );
  const more = lines.length - MAX_PROBLEM_LINES;
  return more > 0 ? [...lines.slice(0, MAX_PROBLEM_LINES), `… and ${more} more`] : lines;
}

const toPath = (path: readonly PropertyKey[]): ConfigPath =>
  path.map((each) => (typeof each === 'number' ? each : String(each)));

const valueAt = (context: Context, path: ConfigPath) => path.reduce(property, context.value);

function unknownKey(path: ConfigPath, key: string, context: Context): string {
  const known = Object.keys(
    shapeOf(schemaAt(context.schema, context.value, path), valueAt(context, path)) ?? {},
  ).sort();
  const near = nearestName(key, known);
  const hint = near ? `did you mean "${near}"? ` : '';
  // A key that long is no typing error; whatever it is, it isn't repeated whole.
  const shown = key.length > MAX_KEY_CHARS ? `${key.slice(0, 8)}…` : key;
  return `${showPath([...context.root, ...path, shown])}: unknown key; ${hint}Known here: ${known.join(', ')}`;
}

function wrongValue(path: ConfigPath, issue: z.core.$ZodIssue, context: Context): string {
  const schema = schemaAt(context.schema, context.value, path);
  const value = valueAt(context, path);
  const shown = [...context.root, ...path];
  const secret = shown.some((each) => SECRET.test(String(each))) || context.expanded.has(showPath(shown));
  const choices = choicesOf(schema);
  const near =
    !secret && typeof value === 'string' && choices.length > 0 ? nearestName(value, choices) : null;
  // What spans several keys, or says more than its type, has words of its own in the schema.
  if (issue.code === 'custom') return `${showPath(shown)}: ${issue.message}`;
  const hasOwnWords = issue.code === 'invalid_format' && !issue.message.startsWith('Invalid');
  const allowed = schema === undefined || hasOwnWords ? issue.message : describeAllowed(schema);
  return (
    `${showPath(shown)}: found ${describeFound(value, secret, choices.length > 0)}; allowed: ${allowed}` +
    (near ? `; did you mean "${near}"?` : '')
  );
}

/** Free text is told by its length only: it may be what a person said, or a key in the wrong place. */
function describeFound(value: unknown, secret: boolean, isChoice: boolean): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  if (secret) return `a ${typeof value === 'string' ? 'text' : typeof value} (not shown)`;
  if (typeof value === 'number') return Math.abs(value) >= 1e6 ? 'a number of 7 digits or more' : `${value}`;
  if (typeof value === 'boolean') return `${value}`;
  if (typeof value !== 'string') return typeof value;
  if (isChoice && /^[\w.-]{1,24}$/.test(value) && !/\d{4}/.test(value)) return JSON.stringify(value);
  return `text of ${value.length} characters`;
}

interface JsonSchemaPart {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly items?: JsonSchemaPart;
  readonly anyOf?: readonly JsonSchemaPart[];
}

/** What a schema takes, in words. */
export function describeAllowed(schema: unknown): string {
  if (!(schema instanceof z.ZodType)) return 'something else';
  return inWords(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchemaPart);
}

function inWords(part: JsonSchemaPart): string {
  if (part.anyOf) return part.anyOf.map(inWords).join(' or ');
  if (part.enum) return `one of ${part.enum.map((each) => JSON.stringify(each)).join(', ')}`;
  if (part.const !== undefined) return JSON.stringify(part.const);
  switch (part.type) {
    case 'boolean':
      return 'true or false';
    case 'null':
      return 'null';
    case 'integer':
      return `a whole number${range(part.minimum, part.maximum)}`;
    case 'number':
      return `a number${range(part.minimum, part.maximum)}`;
    case 'string':
      return text(part);
    case 'array':
      return `a list, each item ${part.items ? inWords(part.items) : 'anything'}`;
    case 'object':
      return 'an object';
    default:
      return 'something else';
  }
}

function range(minimum?: number, maximum?: number): string {
  const low = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : null;
  const high = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : null;
  if (low !== null && high !== null) return ` from ${low} to ${high}`;
  if (low !== null) return `, ${low} or more`;
  return high === null ? '' : `, ${high} or less`;
}

function text(part: JsonSchemaPart): string {
  if (part.format === 'uri') return 'a URL';
  const { minLength: min = 0, maxLength: max } = part;
  const length = max !== undefined ? ` of ${min} to ${max} characters` : min > 0 ? ' that is not empty' : '';
  return `text${length}${part.pattern ? ` like ${part.pattern}` : ''}`;
}
