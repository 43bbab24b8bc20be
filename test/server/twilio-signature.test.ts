import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type SignedRequest, sign, verifySignature } from '../../src/server/twilio/signature.ts';
import { signedUrlCandidates } from '../../src/server/twilio/urls.ts';

const KEYS = { authToken: '12345', sharedKeys: {} };
const URL_1 = 'https://gw.example.com/voice/in?tenant=1';
const FORM_1 = new URLSearchParams({
  CallSid: 'CA00000000000000000000000000000001',
  From: '+15005550006',
  To: '+15005550001',
  CallStatus: 'ringing',
});
const SHA1_1 = 'q6gbOiQ0sjecywELUV+4fc1dP8o=';
const SHA256_1 = 'uwp4gz8arRiSNaUQ0SDuwEhakp9I9QXpQO9H03E92ME=';

function request(changes: Partial<SignedRequest> = {}): SignedRequest {
  return {
    method: 'POST',
    urls: [URL_1],
    contentType: 'application/x-www-form-urlencoded; charset=UTF-8',
    body: Buffer.from(FORM_1.toString()),
    signature: SHA1_1,
    settings: null,
    ...changes,
  };
}

const reasonOf = (changes: Partial<SignedRequest>, keys = KEYS) => {
  const verdict = verifySignature(request(changes), keys);
  return verdict.ok ? 'ok' : verdict.reason;
};

describe("Twilio's signature", () => {
  it("of the official documentation's example is the one we compute", () => {
    const form = new URLSearchParams({
      CallSid: 'CA1234567890ABCDE',
      Caller: '+14158675309',
      Digits: '1234',
      From: '+14158675309',
      To: '+18005551212',
    });
    expect(sign('https://mycompany.com/myapp.php?foo=1&bar=2', form, '12345')).toBe(
      'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
    );
  });

  it('as the vendor library computes it is accepted, with SHA-1 and with SHA-256', () => {
    expect(sign(URL_1, FORM_1, '12345')).toBe(SHA1_1);
    expect(sign(URL_1, FORM_1, '12345', 'sha256')).toBe(SHA256_1);
    expect(reasonOf({})).toBe('ok');
  });

  it('of a media socket is computed over the wss address without fields', () => {
    expect(sign('wss://gw.example.com/media', new URLSearchParams(), '12345')).toBe(
      'EaUrJnXeOdQbckRcqHzor+8Gtsk=',
    );
  });

  it('of a JSON body binds the body through its hash in the address', () => {
    const body = Buffer.from('{"a":1}');
    const hash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862';
    const url = `https://gw.example.com/ev?bodySHA256=${hash}`;
    const json = {
      urls: [url],
      contentType: 'application/json',
      body,
      signature: 'g6w2tfD9cCjCtWPMNx3J2RfbeUQ=',
    };
    expect(createHash('sha256').update(body).digest('hex')).toBe(hash);
    expect(reasonOf(json)).toBe('ok');
    expect(reasonOf({ ...json, body: Buffer.from('{"a":2}') })).toBe('body_hash');
    expect(reasonOf({ ...json, urls: ['https://gw.example.com/ev'] })).toBe('body_hash');
    expect(reasonOf({ ...json, urls: [`${url}&x=1`] })).toBe('mismatch');
  });

  it('of a GET covers the address, and its fields are those of the query', () => {
    const url = 'https://gw.example.com/voice?CallSid=CA1&From=%2B15550100';
    const signature = sign(url, new URLSearchParams(), '12345');
    const verdict = verifySignature(
      request({ method: 'GET', urls: [url], body: Buffer.alloc(0), signature }),
      KEYS,
    );
    expect(verdict.ok && [...verdict.params]).toEqual([
      ['CallSid', 'CA1'],
      ['From', '+15550100'],
    ]);
  });

  it('takes repeated fields once per value, sorted, and does not believe them', () => {
    const body = Buffer.from('b=2&a=1&b=1&b=2');
    const signature = sign('https://x.example/', new URLSearchParams(body.toString()), '12345');
    expect(signature).toBe(sign('https://x.example/a1b1b2', new URLSearchParams(), '12345'));
    const verdict = verifySignature(request({ urls: ['https://x.example/'], body, signature }), KEYS);
    expect(verdict.ok && [...verdict.params]).toEqual([['a', '1']]);
  });

  it.each([
    ['a byte of the address', { urls: [URL_1.replace('tenant=1', 'tenant=2')] }, 'mismatch'],
    [
      'a byte of the body',
      { body: Buffer.from(FORM_1.toString().replace('ringing', 'ringinG')) },
      'mismatch',
    ],
    ['a field more', { body: Buffer.from(`${FORM_1}&x=1`) }, 'mismatch'],
    ['the scheme', { urls: [URL_1.replace('https', 'http')] }, 'mismatch'],
    ["the scheme's case", { urls: [URL_1.replace('https', 'HTTPS')] }, 'mismatch'],
    ['no signature', { signature: null }, 'missing'],
    ['an empty signature', { signature: '' }, 'missing'],
    ['a signature cut off', { signature: SHA1_1.slice(0, -4) }, 'mismatch'],
    ['two signatures', { signature: `${SHA1_1}, ${SHA1_1}` }, 'mismatch'],
    ['another type of body', { contentType: 'text/plain' }, 'body_type'],
    ['no type of body', { contentType: null }, 'body_type'],
  ] as const)('does not hold with %s changed', (_, changes, reason) => {
    expect(reasonOf(changes)).toBe(reason);
  });

  it('does not hold with another auth token', () => {
    expect(reasonOf({}, { authToken: '12346', sharedKeys: {} })).toBe('mismatch');
  });

  describe('with a shared key', () => {
    const shared = { authToken: '12345', sharedKeys: { k1: 'shared-secret' } };
    const sha256 = sign(URL_1, FORM_1, 'shared-secret', 'sha256');

    it('holds under the key and the algorithm that it names', () => {
      expect(reasonOf({ settings: 'key=k1,algorithm=HMAC_SHA256', signature: sha256 }, shared)).toBe('ok');
      const sha1 = sign(URL_1, FORM_1, 'shared-secret');
      expect(reasonOf({ settings: 'key=k1, algorithm=HMAC_SHA1', signature: sha1 }, shared)).toBe('ok');
    });

    it('never falls back to the auth token', () => {
      expect(reasonOf({ settings: 'key=k1,algorithm=HMAC_SHA1' }, shared)).toBe('mismatch');
      expect(reasonOf({ settings: 'key=k2,algorithm=HMAC_SHA1' }, shared)).toBe('no_key');
      expect(reasonOf({ settings: 'key=k1,algorithm=HMAC_SHA1' })).toBe('no_key');
      expect(reasonOf({ settings: 'key=constructor,algorithm=HMAC_SHA1' }, shared)).toBe('no_key');
    });

    it.each([
      'key=k1,algorithm=HMAC_MD5',
      'key=k1',
      'algorithm=HMAC_SHA1',
      '',
      'x',
      'key=k1,algorithm=toString',
    ])('does not hold with the settings "%s"', (settings) => {
      expect(reasonOf({ settings, signature: sha256 }, shared)).toBe('settings_invalid');
    });
  });

  describe('that leaves the attestation out', () => {
    const form = new URLSearchParams({
      CallSid: 'CA1',
      StirVerstat: 'TN-Validation-Passed-A',
      CallToken: 'x',
    });

    it('still holds, and what it left out is not believed', () => {
      const signature = sign(URL_1, new URLSearchParams({ CallSid: 'CA1' }), '12345');
      const verdict = verifySignature(request({ body: Buffer.from(form.toString()), signature }), KEYS);
      expect(verdict).toMatchObject({ ok: true, unsigned: ['CallToken', 'StirVerstat'] });
      expect(verdict.ok && [...verdict.params]).toEqual([['CallSid', 'CA1']]);
    });

    it('and one that covers it is believed', () => {
      const signature = sign(URL_1, form, '12345');
      const verdict = verifySignature(request({ body: Buffer.from(form.toString()), signature }), KEYS);
      expect(verdict).toMatchObject({ ok: true, unsigned: [] });
      expect(verdict.ok && verdict.params.get('StirVerstat')).toBe('TN-Validation-Passed-A');
    });

    it('does not open the door for other fields', () => {
      const signature = sign(URL_1, new URLSearchParams({ CallSid: 'CA1' }), '12345');
      const body = Buffer.from('CallSid=CA1&From=%2B15550100');
      expect(reasonOf({ body, signature })).toBe('mismatch');
    });
  });
});

describe('the addresses that may have been signed', () => {
  const target = '/twilio/voice?a=1';

  it.each([
    ['https://gw.example.com', 'https://gw.example.com:443/twilio/voice?a=1'],
    ['https://gw.example.com:443', 'https://gw.example.com/twilio/voice?a=1'],
    ['https://gw.example.com:8443', 'https://gw.example.com/twilio/voice?a=1'],
    ['http://gw.example.com', 'http://gw.example.com:80/twilio/voice?a=1'],
    ['wss://gw.example.com', 'wss://gw.example.com:443/twilio/voice?a=1'],
    ['https://[2001:db8::1]', 'https://[2001:db8::1]:443/twilio/voice?a=1'],
    ['https://user:pass@gw.example.com', 'https://user:pass@gw.example.com:443/twilio/voice?a=1'],
    ['https://GW.example.com', 'https://gw.example.com/twilio/voice?a=1'],
  ])('for %s include %s', (base, expected) => {
    const candidates = signedUrlCandidates(base, target);
    expect(candidates).toContain(base + target);
    expect(candidates).toContain(expected);
  });

  it('include the query in the other usual encoding', () => {
    expect(signedUrlCandidates('https://x.example', '/v?a=b+c')).toContain('https://x.example/v?a=b%20c');
  });

  it('never include another host', () => {
    const hosts = signedUrlCandidates('https://gw.example.com', target).map((url) => new URL(url).hostname);
    expect(new Set(hosts)).toEqual(new Set(['gw.example.com']));
  });
});
