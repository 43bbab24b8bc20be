/**
 * Twilio's webhook signature: HMAC over the address and the sorted form fields, with the account's auth token
 * or with a shared key. https://www.twilio.com/docs/usage/webhooks/webhooks-security
 *
 * @module
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export interface TwilioKeys {
  readonly authToken: string | undefined;
  /** Shared key id → secret. */
  readonly sharedKeys: Readonly<Record<string, string>>;
}

export interface SignedRequest {
  readonly method: string;
  /** Every spelling of the address that may have been signed, from the config. */
  readonly urls: readonly string[];
  readonly contentType: string | null;
  readonly body: Uint8Array;
  /** `X-Twilio-Signature` */
  readonly signature: string | null;
  /** `X-Twilio-Webhooks-Signature-Settings` */
  readonly settings: string | null;
}

export type SignatureVerdict =
  | { readonly ok: true; readonly params: WebhookParams; readonly unsigned: readonly string[] }
  | { readonly ok: false; readonly reason: SignatureFailure };

export type SignatureFailure =
  | 'missing'
  | 'no_key'
  | 'settings_invalid'
  | 'body_hash'
  | 'body_type'
  | 'mismatch';

/** The webhook's fields. A field that came more than once with different values is not there. */
export type WebhookParams = ReadonlyMap<string, string>;

/**
 * Reports contradict each other on whether Twilio's signature covers these. When it holds only without them,
 * they are dropped: what was not signed must not be believed.
 */
const MAYBE_UNSIGNED = ['CallToken', 'StirPassportToken', 'StirVerstat'] as const;

/** Checks the signature; `params` of the verdict are what it vouches for. */
export function verifySignature(request: SignedRequest, keys: TwilioKeys): SignatureVerdict {
  if (!request.signature) return { ok: false, reason: 'missing' };
  const key = selectKey(request.settings, keys);
  if ('reason' in key) return { ok: false, reason: key.reason };
  const content = contentOf(request);
  if ('reason' in content) return { ok: false, reason: content.reason };

  const { signature, urls } = request;
  const holds = (form: URLSearchParams) =>
    urls.some((url) => sameText(sign(url, form, key.secret, key.algorithm), signature));
  if (holds(content.signedForm)) return { ok: true, params: toParams(content.fields), unsigned: [] };

  const unsigned = MAYBE_UNSIGNED.filter((name) => content.signedForm.has(name));
  if (unsigned.length === 0) return { ok: false, reason: 'mismatch' };
  const rest = new URLSearchParams(content.signedForm);
  for (const name of unsigned) rest.delete(name);
  return holds(rest) ? { ok: true, params: toParams(rest), unsigned } : { ok: false, reason: 'mismatch' };
}

/** The signature of one address and form, base64. */
export function sign(
  url: string,
  form: URLSearchParams,
  secret: string,
  algorithm: 'sha1' | 'sha256' = 'sha1',
): string {
  let text = url;
  for (const name of [...new Set(form.keys())].sort()) {
    for (const value of [...new Set(form.getAll(name))].sort()) text += name + value;
  }
  return createHmac(algorithm, secret).update(text, 'utf8').digest('base64');
}

type Key = { readonly secret: string; readonly algorithm: 'sha1' | 'sha256' };

function selectKey(settings: string | null, keys: TwilioKeys): Key | { reason: SignatureFailure } {
  if (settings === null) {
    return keys.authToken ? { secret: keys.authToken, algorithm: 'sha1' } : { reason: 'no_key' };
  }
  const fields = new Map(settings.split(',').map((field) => splitOnce(field.trim(), '=')));
  const algorithm = ALGORITHMS.get(fields.get('algorithm') ?? '');
  const id = fields.get('key');
  if (!algorithm || !id) return { reason: 'settings_invalid' };
  // Never the auth token instead: the sender said which key it used.
  const secret = Object.hasOwn(keys.sharedKeys, id) ? keys.sharedKeys[id] : undefined;
  return secret ? { secret, algorithm } : { reason: 'no_key' };
}

const ALGORITHMS: ReadonlyMap<string, 'sha1' | 'sha256'> = new Map([
  ['HMAC_SHA1', 'sha1'],
  ['HMAC_SHA256', 'sha256'],
]);

interface Content {
  /** The fields that the request carries. */
  readonly fields: URLSearchParams;
  /** Those of them that are part of the signed text; the others are bound by the address. */
  readonly signedForm: URLSearchParams;
}

function contentOf(request: SignedRequest): Content | { reason: SignatureFailure } {
  const query = queryOf(request.urls[0] ?? '');
  if (request.method === 'GET') return { fields: query, signedForm: new URLSearchParams() };
  const type = request.contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const text = Buffer.from(request.body).toString('utf8');
  if (type === 'application/json') {
    const expected = query.get('bodySHA256') ?? '';
    const actual = createHash('sha256').update(request.body).digest('hex');
    if (!sameText(actual, expected.toLowerCase())) return { reason: 'body_hash' };
    return { fields: jsonFields(text), signedForm: new URLSearchParams() };
  }
  if (type === 'application/x-www-form-urlencoded' || request.body.byteLength === 0) {
    const form = new URLSearchParams(text);
    return { fields: form, signedForm: form };
  }
  return { reason: 'body_type' };
}

function jsonFields(text: string): URLSearchParams {
  const fields = new URLSearchParams();
  try {
    const json: unknown = JSON.parse(text);
    for (const [name, value] of Object.entries(Object(json))) {
      if (typeof value === 'string') fields.append(name, value);
    }
  } catch {
    // Signed, yet not JSON: there are no fields in it, and the route will say what it misses.
  }
  return fields;
}

/** Fields by name, without those whose value depends on the order in which they came. */
export function toParams(fields: URLSearchParams): WebhookParams {
  const params = new Map<string, string>();
  for (const name of new Set(fields.keys())) {
    const [first, ...others] = new Set(fields.getAll(name));
    if (first !== undefined && others.length === 0) params.set(name, first);
  }
  return params;
}

/** The query of an address. */
export function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Equal, in a time that does not depend on where they differ. */
function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}
