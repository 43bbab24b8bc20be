import { describe, expect, it } from 'vitest';
import { approve, argumentsOf, columns, deny, neighbour, scopesOf } from '../../web/operate/board.ts';
import type { Approval } from '../../web/operate/schemas.ts';
import { clock, fileSize, milliseconds, pretty, span } from '../../web/shared/format.ts';
import { endText, problemOf } from '../../web/talk/problems.ts';
import { sdpFragment } from '../../web/talk/sdp-fragment.ts';

const card = (id: string, column: string, createdAt: number, more: Partial<Approval> = {}): Approval => ({
  id,
  tool: 'send_email',
  summary: 's',
  column,
  arguments: { to: 'a@example.com', copies: 2 },
  requester: null,
  callId: 'c',
  createdAt,
  expiresAt: 0,
  decidedAt: null,
  decidedBy: null,
  decidedInput: null,
  reason: null,
  grantScope: null,
  outcome: null,
  resolution: null,
  ...more,
});

describe('the board', () => {
  const board = columns([
    card('w1', 'Waiting', 1),
    card('w2', 'Waiting', 2),
    card('d1', 'Done', 3),
    card('u1', 'Unknown', 4),
  ]);

  it('has every column, newest first', () => {
    expect(board.map(({ name }) => name)).toEqual([
      'Waiting',
      'Approved',
      'Running',
      'Done',
      'Failed',
      'Denied',
      'Expired',
      'Cancelled',
      'Unknown',
    ]);
    expect(board[0]?.cards.map(({ id }) => id)).toEqual(['w2', 'w1']);
  });

  it('is walked with the arrow keys, over empty columns, and not over its edges', () => {
    expect(neighbour(board, 'w2', 'ArrowDown')).toBe('w1');
    expect(neighbour(board, 'w1', 'ArrowDown')).toBe('w1');
    expect(neighbour(board, 'w1', 'ArrowRight')).toBe('d1');
    expect(neighbour(board, 'd1', 'ArrowRight')).toBe('u1');
    expect(neighbour(board, 'u1', 'ArrowRight')).toBe('u1');
    expect(neighbour(board, 'd1', 'ArrowLeft')).toBe('w2');
    expect(neighbour(board, 'gone', 'ArrowLeft')).toBe('gone');
  });

  it('offers a call’s scope only for a call, and binds a grant to the values that were left ticked', () => {
    expect(scopesOf(card('a', 'Waiting', 1)).map(([scope]) => scope)).toEqual([
      'once',
      'call',
      'session',
      'permanent',
    ]);
    expect(scopesOf(card('a', 'Waiting', 1, { callId: null })).map(([scope]) => scope)).not.toContain('call');
    expect(argumentsOf(card('a', 'Waiting', 1))).toEqual([
      ['to', 'a@example.com'],
      ['copies', '2'],
    ]);
    expect(approve('once', ['to'])).toEqual({ decision: 'approve', scope: 'once' });
    expect(approve('permanent', ['to'])).toEqual({
      decision: 'approve',
      scope: 'permanent',
      bindArguments: ['to'],
    });
    expect(deny('  ')).toEqual({ decision: 'deny' });
    expect(deny(' no ')).toEqual({ decision: 'deny', reason: 'no' });
  });
});

describe('a fragment of trickled candidates', () => {
  const offer =
    'v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:abcd\r\na=ice-pwd:secretsecretsecretsecret\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:1\r\n';

  it('names the session and the first m-line, and ends when no candidate follows', () => {
    const candidate = { candidate: 'candidate:1 1 udp 1 127.0.0.1 5000 typ host', sdpMid: '0' };

    expect(sdpFragment(offer, [candidate], true)).toBe(
      'a=ice-ufrag:abcd\r\na=ice-pwd:secretsecretsecretsecret\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=candidate:1 1 udp 1 127.0.0.1 5000 typ host\r\na=end-of-candidates\r\n',
    );
    expect(sdpFragment(offer, [candidate], false)).not.toContain('end-of-candidates');
  });
});

describe('what people read', () => {
  it('has times and sizes that fit on a line', () => {
    expect([0, 59_999, 725_000, 3_723_000].map(clock)).toEqual(['0:00', '0:59', '12:05', '1:02:03']);
    expect([8000, 200_000, 7_300_000, 90_000_000, 900_000_000].map(span)).toEqual([
      '8 s',
      '3 min',
      '2 h',
      '1 day',
      '10 days',
    ]);
    expect([12, 1234, 184_234, 5_500_000].map(fileSize)).toEqual(['12 B', '1.2 kB', '184 kB', '5.5 MB']);
    expect([null, 412.4, 2070].map(milliseconds)).toEqual(['–', '412 ms', '2.07 s']);
    expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(pretty('12 o’clock')).toBe('12 o’clock');
  });

  it('says why there is no microphone and how to get one', () => {
    const { text, ways, canRetry } = problemOf('INSECURE_CONTEXT');

    expect(text).toContain('HTTPS');
    expect(ways.join(' ')).toMatch(/server\.tls.*proxy.*tunnel/);
    expect(canRetry).toBe(false);
    expect(problemOf('MICROPHONE_REFUSED').ways.length).toBeGreaterThan(0);
  });

  it('has words for every reason that a call ends for', () => {
    expect(endText('silence')).not.toBe(endText('something new'));
    expect(endText('something new')).toBe('The call is over.');
    expect(endText('gateway_lost')).toContain('the gateway’s side');
  });
});
