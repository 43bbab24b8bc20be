import { describe, expect, it } from 'vitest';
import { contentTypeOf, INLINE_TYPES, safeName } from '../../src/media/content-type.ts';
import { PNG } from './support.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

describe('the type of a file', () => {
  it.each([
    ['PNG', PNG, 'image/png'],
    ['JPEG', bytes('\xff\xd8\xff\xe0'), 'image/jpeg'],
    ['WebP', bytes('RIFF\0\0\0\0WEBPVP8 '), 'image/webp'],
    ['WAV', bytes('RIFF\0\0\0\0WAVEfmt '), 'audio/wav'],
    ['PDF', bytes('%PDF-1.7'), 'application/pdf'],
    ['MP4', bytes('\0\0\0\x18ftypisom'), 'video/mp4'],
    ['text', Buffer.from('Grüße'), 'text/plain'],
    ['bytes of no known type', bytes('\x01\x02\0\x03'), 'application/octet-stream'],
    ['text that is not UTF-8', bytes('Gr\xfc\xdfe'), 'application/octet-stream'],
  ])('is told by the bytes: %s', (_, content, mime) => {
    expect(contentTypeOf(content).mime).toBe(mime);
  });

  it.each([
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['a script', 'alert(1)'],
  ])('is plain text for %s, which is never shown in line', (_, content) => {
    const { mime } = contentTypeOf(Buffer.from(content));

    expect(mime).toBe('text/plain');
    expect(INLINE_TYPES.has(mime)).toBe(false);
  });

  it('is not a PNG for what only begins like one', () => {
    expect(contentTypeOf(bytes('\x89PNG\r\n\x1a\n')).mime).toBe('application/octet-stream');
  });
});

describe('the name of a file', () => {
  const text = contentTypeOf(Buffer.from('a'));
  it.each([
    ['../../etc/passwd', 'passwd.txt'],
    ['C:\\boot\\a.txt', 'a.txt'],
    ['invoice.html', 'invoice.txt'],
    ['gpj.\u202Etxt', 'gpj.txt'],
    ['a"; filename="b.exe', 'a; filename=b.txt'],
    ['https://evil.example/x', 'x.txt'],
    ['.htaccess', 'file.txt'],
    ['\0\r\n', 'file.txt'],
    ['', 'file.txt'],
  ])('is made harmless and ends as its content: %j', (given, safe) => {
    expect(safeName(given, text, 120)).toBe(safe);
  });

  it('is cut at its bound', () => {
    expect(safeName('ä'.repeat(500), text, 20)).toBe(`${'ä'.repeat(16)}.txt`);
  });
});
