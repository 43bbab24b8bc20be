import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { realtimeConfigSchema } from '../../src/config.ts';
import { ERRORS, type ErrorCode } from '../../src/errors.ts';
import * as server from '../../src/server/index.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8');

/** The object inside defaults and optionals, or `null` for a value. */
function objectIn(schema: z.ZodType): z.ZodObject | null {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return objectIn(schema.unwrap() as z.ZodType);
  }
  return null;
}

function keysOf(schema: z.ZodObject, prefix = ''): string[] {
  return Object.entries(schema.shape).flatMap(([key, value]) => {
    const inner = objectIn(value as z.ZodType);
    return inner ? keysOf(inner, `${prefix}${key}.`) : [`${prefix}${key}`];
  });
}

const KEYS = keysOf(realtimeConfigSchema);
const DEFAULTS = realtimeConfigSchema.parse({ carriers: { twilio: {} } }) as Record<string, unknown>;
const defaultOf = (path: string) =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], DEFAULTS);

describe('docs/reference/config.md', () => {
  const rows = new Map(
    [...page('config.md').matchAll(/^\| `([^`]+)` *\| (.+?) *\| (.+?) *\|$/gm)].map(
      ([, key, value, text]) => [key, { value, text }],
    ),
  );

  it.each(KEYS)('lists %s with its default', (key) => {
    const value = defaultOf(key);
    const shown = value === undefined ? '–' : `\`${JSON.stringify(value)}\``;
    expect(rows.get(key)?.value).toBe(shown);
    expect(rows.get(key)?.text?.length).toBeGreaterThan(5);
  });

  it('lists nothing else', () => {
    expect([...rows.keys()].filter((key) => !KEYS.includes(key ?? ''))).toEqual([]);
  });
});

describe('docs/reference/errors.md', () => {
  const sections = new Map(
    page('errors.md')
      .split(/^### /m)
      .slice(1)
      .map((section) => {
        const [code = '', facts = '', ...text] = section.split('\n').filter((line) => line.trim() !== '');
        return [code, { facts, text: text.join(' ') }];
      }),
  );

  it.each(Object.keys(ERRORS) as ErrorCode[])('explains %s', (code) => {
    const { httpStatus, retryable, spoken } = ERRORS[code];
    const facts = [`HTTP ${httpStatus}`, retryable ? 'may work later' : 'needs a change'];
    if (spoken !== null) facts.push(`the caller hears “${spoken}”`);
    expect(sections.get(code)?.facts).toBe(`${facts.join(' · ')}`);
    expect(sections.get(code)?.text.length).toBeGreaterThan(60);
  });

  it('explains nothing else', () => {
    expect([...sections.keys()].filter((code) => !(code in ERRORS))).toEqual([]);
  });
});

describe('docs/reference/http.md', () => {
  const limits = Object.entries(server).filter(([, value]) => typeof value === 'number');

  it.each(limits)('lists the limit %s with its value', (name, value) => {
    const shown = (value as number).toLocaleString('en-US');
    expect(page('http.md')).toMatch(new RegExp(`^\\| \`${name}\` *\\| ${shown} *\\|`, 'm'));
  });

  it.each(['/twilio/voice', '/twilio/status', '/twilio/media/', '/healthz', '/readyz', '/metrics'])(
    'describes %s',
    (route) => {
      expect(page('http.md')).toMatch(new RegExp(`^## .*\`.*${route}`, 'm'));
    },
  );
});
