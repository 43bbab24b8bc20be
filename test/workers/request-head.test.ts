import { describe, expect, it } from 'vitest';
import { MAX_PEEKED_BODY_BYTES, MAX_PEEKED_HEAD_BYTES, peekRequest } from '../../src/workers/request-head.ts';

const peek = (text: string) => peekRequest(Buffer.from(text, 'latin1'));

describe('the beginning of a request', () => {
  it('is known once its head is there, at whatever byte it is cut', () => {
    const text = 'GET /talk HTTP/1.1\r\nHost: a\r\nCookie: x=1\r\n\r\n';
    for (let length = 0; length < text.length; length += 1)
      expect(peek(text.slice(0, length)).kind).toBe('more');
    const whole = peek(text);
    expect(whole).toMatchObject({ kind: 'head', head: { method: 'GET', target: '/talk', body: '' } });
    expect(whole.kind === 'head' && whole.head.header('cookie')).toBe('x=1');
  });

  it('waits for the body only where the body names the worker', () => {
    const post = (target: string, more = '') =>
      `POST ${target} HTTP/1.1\r\nContent-Length: 12\r\n${more}\r\n`;
    expect(peek(post('/twilio/voice')).kind).toBe('more');
    expect(peek(`${post('/twilio/voice')}CallSid=CA01`)).toMatchObject({ head: { body: 'CallSid=CA01' } });
    expect(peek(post('/page/session')).kind).toBe('more');
    expect(peek(post('/operator/login')).kind).toBe('head');
    // It waits for our leave before it sends the body.
    expect(peek(post('/twilio/voice', 'Expect: 100-continue\r\n')).kind).toBe('head');
  });

  it('never waits for more than its bounds', () => {
    expect(peek('x'.repeat(MAX_PEEKED_HEAD_BYTES)).kind).toBe('more');
    expect(peek('x'.repeat(MAX_PEEKED_HEAD_BYTES + 1)).kind).toBe('too_large');
    const long = `GET / HTTP/1.1\r\nA: ${'x'.repeat(MAX_PEEKED_HEAD_BYTES)}\r\n\r\n`;
    expect(peek(long).kind).toBe('too_large');
    for (const length of [String(MAX_PEEKED_BODY_BYTES + 1), '-1', '1e3', '99999999999', 'x'])
      expect(peek(`POST /twilio/voice HTTP/1.1\r\nContent-Length: ${length}\r\n\r\n`).kind).toBe('head');
  });

  it('takes what is no HTTP for what it is worth', () => {
    expect(peek('\r\n\r\n')).toMatchObject({ kind: 'head', head: { method: '', target: '' } });
    expect(peek('\u0016\u0003\u0001\r\n:\r\n\r\n').kind).toBe('head');
  });
});
