import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentsObject, canonicalJson, MAX_ARGS_CHARS, sha256 } from '../../src/approval/canonical-json.ts';
import { REDACTED, redact } from '../../src/approval/redact.ts';
import { MAX_SUMMARY_CHARS, spokenSummary, summarize } from '../../src/approval/summary.ts';

describe('the canonical text of arguments', () => {
  it('does not depend on the order of keys, and is that of RFC 8785', () => {
    expect(canonicalJson({ b: [1, { d: 1, c: 'é' }], a: null })).toBe('{"a":null,"b":[1,{"c":"é","d":1}]}');
    // RFC 8785, 3.2.3: sorted by UTF-16 code units.
    const sorted = canonicalJson({ '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 });
    expect(Object.values(JSON.parse(sorted) as object)).toEqual([4, 2, 6, 7, 1, 5, 3].map((n) => n));
    // RFC 8785, 3.2.2.3.
    const numbers: unknown = JSON.parse(
      '[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0]',
    );
    expect(canonicalJson(numbers)).toBe('[333333333.3333333,1e+30,4.5,0.002,1e-27,0]');
  });

  it('tells any two different arguments apart, and no equal ones', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
        try {
          const same = canonicalJson(plain(a)) === canonicalJson(plain(b));
          return same === (canonicalJson(JSON.parse(canonicalJson(plain(a)))) === canonicalJson(plain(b)));
        } catch {
          return true;
        }
      }),
    );
    expect(canonicalJson({ a: '1' })).not.toBe(canonicalJson({ a: 1 }));
    expect(canonicalJson({ a: ['b', 'c'] })).not.toBe(canonicalJson({ a: ['b,c'] }));
  });

  it.each([
    ['a function', { a: () => 1 }],
    ['undefined', { a: undefined }],
    ['NaN', { a: Number.NaN }],
    ['a date', { a: new Date(0) }],
    ['a lone surrogate', { a: '\ud800' }],
    ['a big integer', { a: 1n }],
  ])('does not exist for %s: nothing is altered in silence', (_what, value) => {
    expect(() => canonicalJson(value)).toThrowError(expect.objectContaining({ code: 'REQUEST_INVALID' }));
  });

  it('is bounded, in length and in depth', () => {
    expect(() => canonicalJson({ a: 'x'.repeat(MAX_ARGS_CHARS) })).toThrow();
    let deep: unknown = 1;
    for (let i = 0; i < 100; i++) deep = [deep];
    expect(() => canonicalJson(deep)).toThrow();
  });

  it('is made of what a model wrote, and of nothing that is no object', () => {
    expect(argumentsObject('{"a":1}')).toEqual({ a: 1 });
    expect(argumentsObject('')).toEqual({});
    expect(argumentsObject(null)).toEqual({});
    for (const bad of ['[1]', '3', '{', '"x"', [1]]) expect(() => argumentsObject(bad)).toThrow();
  });

  it('has a hash that changes with every character', () => {
    expect(sha256(canonicalJson({ to: 'a@x.com' }))).not.toBe(sha256(canonicalJson({ to: 'a@x.co' })));
  });
});

describe('what people see of a call', () => {
  it('holds no secret, under whatever key or in whatever text', () => {
    const shown = JSON.stringify(
      redact({
        apiKey: 'abc',
        api_key: 'abc',
        nested: { password: 'p', list: [{ accessToken: 't' }] },
        text: 'use sk-abcdefghijklmnop1234 and Bearer abcdefgh12345678, password=hunter2',
        url: 'https://user:secret99@example.com/x',
        card: '4111 1111 1111 1111',
        key_name: 'k',
        keyboard: 'kept',
      }),
    );

    for (const secret of [
      'abc"',
      'hunter2',
      'secret99',
      '4111',
      'abcdefghijklmnop1234',
      'abcdefgh12345678',
    ]) {
      expect(shown).not.toContain(secret);
    }
    expect(shown).toContain(REDACTED);
    expect(shown).toContain('kept');
  });

  it('is one line, bounded, without characters that turn text around', () => {
    const summary = summarize('send_email', {
      to: 'a@example.com',
      body: `x\n\u202egnol\u0000 ${'y'.repeat(5000)}`,
    });

    expect(summary).toMatch(/^send_email\(to=a@example\.com, body=x gnol y+…\)$/);
    expect(summary.length).toBeLessThanOrEqual(MAX_SUMMARY_CHARS);
  });

  it('can be said: names without underscores, dots as words, no end of a sentence inside', () => {
    expect(spokenSummary('delete_file', { path: 'report.txt' }, 'dot')).toBe('delete file: report dot txt');
    expect(
      spokenSummary('mcp_mail_send_email', { to: 'a@example.com', subject: 'Hi! Say yes.' }, 'dot'),
    ).toBe('send email: to a@example dot com, subject Hi Say yes');
  });
});
