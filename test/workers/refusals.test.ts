import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { turnAway } from '../../src/workers/refusals.ts';
import { peekRequest } from '../../src/workers/request-head.ts';

function answerTo(method: string, target: string, prefix = ''): string {
  const peeked = peekRequest(Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
  if (peeked.kind !== 'head') throw new Error('No head.');
  const stream = new PassThrough();
  turnAway(stream as unknown as Socket, peeked.head, prefix);
  return String(stream.read());
}

describe('a request that nobody can take', () => {
  it('is told to come again', () => {
    for (const target of ['/twilio/voice', '/readyz', '/page/calls'])
      expect(answerTo('POST', target)).toMatch(/^HTTP\/1.1 503 [\s\S]*Content-Length: 0\r\n\r\n$/);
    expect(answerTo('GET', `/twilio/resume/${'0'.repeat(32)}/x`)).toMatch(/^HTTP\/1.1 503 /);
  });

  it('is an apology to a caller who is on the line', () => {
    const answer = answerTo('POST', `/voice/twilio/resume/${'0'.repeat(32)}/x`, '/voice');
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    expect(body).toContain(
      '<Say language="en-US">Sorry, something went wrong on our side. Please call again.</Say>',
    );
    expect(body).toContain('<Hangup/>');
  });
});
