import { describe, expect, it } from 'vitest';
import { hexOfSlot, newCallId, slotOfHex, slotOfSecret, tagOfSlot } from '../../src/worker-slot.ts';
import { destinationOf } from '../../src/workers/destination.ts';
import type { RequestHead } from '../../src/workers/request-head.ts';

const SECRET = 'x'.repeat(43);
const CALL = `01${'a'.repeat(30)}`;

function head(method: string, target: string, headers: Record<string, string> = {}, body = ''): RequestHead {
  return { method, target, header: (name) => headers[name] ?? null, body };
}

const slot = (...args: Parameters<typeof head>) => destinationOf(head(...args), '').slot;

describe('the worker that a secret names', () => {
  it('is read back for each of them, and by nothing of another length', () => {
    for (const index of [0, 1, 25, 26, 63]) {
      expect(slotOfSecret(tagOfSlot(index) + SECRET, 43)).toBe(index);
      expect(slotOfHex(hexOfSlot(index))).toBe(index);
    }
    expect(slotOfSecret(SECRET, 43)).toBeNull();
    expect(slotOfSecret(`!${SECRET}`, 43)).toBeNull();
    expect([slotOfHex('40'), slotOfHex('zz'), slotOfHex('')]).toEqual([null, null, null]);
  });

  it('stands in front of a call’s id, which stays 32 hex digits; without workers nothing does', () => {
    expect(newCallId({ index: 5 })).toMatch(/^05[0-9a-f]{30}$/);
    expect(new Set(Array.from({ length: 64 }, () => newCallId(null).slice(0, 2))).size).toBeGreaterThan(10);
  });
});

describe('whom a request is for', () => {
  it.each([
    ['a stream', 'GET', `/twilio/media/B${SECRET}`, {}, 1],
    ['a stream without a name', 'GET', `/twilio/media/${SECRET}`, {}, null],
    ['a call that we placed', 'POST', `/twilio/ring/C${'n'.repeat(22)}`, {}, 2],
    ['a call whose stream is over', 'POST', `/twilio/resume/${CALL}/nonce`, {}, 1],
    ['a page’s socket', 'GET', `/page/socket/B${SECRET}`, {}, 1],
    ['a connection', 'PATCH', `/page/calls/03${'a'.repeat(32)}`, {}, 3],
    ['a call’s new connection', 'POST', `/page/calls?call=${CALL}`, { cookie: `nanobot_page=D${SECRET}` }, 1],
    ['a guest', 'GET', '/page/session', { cookie: `a=b; __Host-nanobot_page=D${SECRET}` }, 3],
    ['a guest’s code', 'POST', '/page/calls', { authorization: `Bearer g_B${'c'.repeat(32)}` }, 1],
    ['an operator at the page', 'GET', '/page/session', { cookie: `nanobot_operator=B${SECRET}` }, 1],
    ['an operator', 'GET', '/operator/live', { cookie: `nanobot_operator=B${SECRET}` }, 1],
    ['an operator’s token', 'GET', '/operator/api/calls', { authorization: 'Bearer t' }, null],
    ['anything else', 'GET', '/talk', { cookie: `nanobot_page=D${SECRET}` }, null],
  ])('%s', (_what, method, target, headers, expected) => {
    expect(slot(method, target, headers as Record<string, string>)).toBe(expected);
  });

  it('a guest comes before an operator: the link was opened later', () => {
    const cookie = `nanobot_operator=B${SECRET}; nanobot_page=D${SECRET}`;
    expect(slot('GET', '/page/session', { cookie })).toBe(3);
    expect(slot('GET', '/operator/api/status', { cookie })).toBe(1);
  });

  it('a code that is exchanged is found in the body, and a sealed cookie has the call', () => {
    expect(slot('POST', '/page/session', {}, `{ "code": "g_B${'c'.repeat(32)}" }`)).toBe(1);
    const seal = `${Buffer.from(CALL).toString('base64url')}.abc.mac`;
    expect(slot('GET', '/media/live', { cookie: `nrt_page=${seal}` })).toBe(1);
    expect(slot('GET', '/media/p/x', { cookie: `nrt_page=${seal}` })).toBeNull();
  });

  it('a webhook is where its call is, and the first one is a new call', () => {
    const voice = destinationOf(head('POST', '/twilio/voice', {}, 'From=%2B15550100&CallSid=CA01'), '');
    const get = destinationOf(head('GET', '/twilio/voice?CallSid=CA02'), '');
    const status = destinationOf(head('POST', '/twilio/status', {}, 'CallSid=CA01'), '');
    expect(voice).toEqual({ callSid: 'CA01', slot: null, isNewCall: true });
    expect(get).toEqual({ callSid: 'CA02', slot: null, isNewCall: true });
    expect(status).toEqual({ callSid: 'CA01', slot: null, isNewCall: false });
  });

  it('behind the path of the public address, and in absolute form, it is the same', () => {
    const target = `/voice/twilio/media/B${SECRET}`;
    expect(destinationOf(head('GET', target), '/voice').slot).toBe(1);
    expect(destinationOf(head('GET', target), '').slot).toBeNull();
    expect(slot('GET', `http://a.example/twilio/media/B${SECRET}`)).toBe(1);
  });

  it('nonsense is for anybody', () => {
    for (const target of ['', '*', '//', '/twilio', '/page/socket/', '/%ff', 'http://', '/twilio/resume'])
      expect(destinationOf(head('GET', target), '/x')).toMatchObject({ slot: null, callSid: null });
  });
});
