import { describe, expect, it } from 'vitest';
import { MAX_STREAM_TOKENS, STREAM_TOKEN_TTL_MS } from '../../src/server/index.ts';
import { StreamTokens } from '../../src/server/stream-tokens.ts';
import { FakeClock } from '../../src/testing/index.ts';

const grant = (n = 1) => ({ callId: `call-${n}`, carrierCallId: `CA${n}` });

describe('stream tokens', () => {
  it('are random, at least 128 bits, and fit into a path', () => {
    const tokens = new StreamTokens(new FakeClock());
    const issued = new Set(Array.from({ length: 100 }, () => tokens.issue(grant()) ?? ''));
    expect(issued.size).toBe(100);
    for (const token of issued) expect(token).toMatch(/^[\w-]{22,}$/);
  });

  it('open one stream, once', () => {
    const tokens = new StreamTokens(new FakeClock());
    const token = tokens.issue(grant()) ?? '';
    expect(tokens.isLive(token)).toBe(true);
    expect(tokens.take(token)).toEqual(grant());
    expect(tokens.take(token)).toBeNull();
    expect(tokens.isLive(token)).toBe(false);
  });

  it('live for thirty seconds', async () => {
    const clock = new FakeClock();
    const tokens = new StreamTokens(clock);
    const early = tokens.issue(grant(1)) ?? '';
    const late = tokens.issue(grant(2)) ?? '';
    await clock.advance(STREAM_TOKEN_TTL_MS - 1);
    expect(tokens.take(early)).toEqual(grant(1));
    await clock.advance(1);
    expect(tokens.take(late)).toBeNull();
    expect(tokens.size).toBe(0);
  });

  it('that are nearly right are wrong', () => {
    const tokens = new StreamTokens(new FakeClock());
    const token = tokens.issue(grant()) ?? '';
    for (const wrong of ['', token.slice(1), `${token}A`, token.toLowerCase(), 'x'.repeat(1000)]) {
      if (wrong !== token) expect(tokens.take(wrong)).toBeNull();
    }
    expect(tokens.take(token)).toEqual(grant());
  });

  it('are bounded in number, and make room when they are too old', async () => {
    const clock = new FakeClock();
    const tokens = new StreamTokens(clock);
    for (let n = 0; n < MAX_STREAM_TOKENS; n += 1) tokens.issue(grant(n));
    expect(tokens.issue(grant())).toBeNull();
    await clock.advance(STREAM_TOKEN_TTL_MS);
    expect(tokens.issue(grant())).not.toBeNull();
    expect(tokens.size).toBe(1);
  });

  it('of a call that is over are taken back', () => {
    const tokens = new StreamTokens(new FakeClock());
    const over = tokens.issue(grant(1)) ?? '';
    const other = tokens.issue(grant(2)) ?? '';
    tokens.revoke('CA1');
    expect(tokens.take(over)).toBeNull();
    expect(tokens.take(other)).toEqual(grant(2));
  });
});
