/**
 * Placing a call as Twilio does: a signed webhook, its TwiML, and the stream that it names.
 *
 * @module
 */

import { createHmac } from 'node:crypto';

export interface DialTarget {
  /** The webhook of incoming calls where it really listens, e.g. `http://127.0.0.1:8787/twilio/voice`. */
  readonly webhookUrl: string;
  /** The address the server believes it is reached at, when that is another; signatures are made for it. */
  readonly publicUrl?: string;
  /** Signs the webhook; unsigned when left out. */
  readonly authToken?: string;
  /** @defaultValue '+15550100' */
  readonly from?: string;
  /** @defaultValue '+15550199' */
  readonly to?: string;
  /** Further fields of the webhook, e.g. `StirVerstat`. */
  readonly params?: Readonly<Record<string, string>>;
}

export interface DialAnswer {
  /** HTTP status of the webhook. */
  readonly status: number;
  readonly twiml: string;
  /** Where the stream is to be opened, on the host that really listens; `null` when there is none. */
  readonly streamUrl: string | null;
  readonly customParameters: Readonly<Record<string, string>>;
  /** The handshake's own signature. */
  readonly headers: Readonly<Record<string, string>>;
}

export async function dialWebhook(
  target: DialTarget,
  ids: { readonly callSid: string; readonly accountSid: string },
): Promise<DialAnswer> {
  const fields = { ...callFields(target, ids), CallStatus: 'ringing', ...target.params };
  const { status, text } = await postWebhook(target, target.webhookUrl, fields);
  const named = attribute(/<Stream\b([^>]*)>/.exec(text)?.[1] ?? '', 'url');
  const customParameters: Record<string, string> = {};
  for (const [, attributes = ''] of text.matchAll(/<Parameter\b([^>]*?)\/?>/g)) {
    const name = attribute(attributes, 'name');
    if (name !== null) customParameters[name] = attribute(attributes, 'value') ?? '';
  }
  return {
    status,
    twiml: text,
    streamUrl: status < 300 && named !== null ? localStream(named, target) : null,
    customParameters,
    headers: named === null ? {} : signatureHeader(target.authToken, named, {}),
  };
}

/** What every webhook of a call says of it. */
export function callFields(
  target: Pick<DialTarget, 'from' | 'to'>,
  ids: { readonly callSid: string; readonly accountSid: string },
): Record<string, string> {
  return {
    AccountSid: ids.accountSid,
    ApiVersion: '2010-04-01',
    CallSid: ids.callSid,
    Direction: 'inbound',
    From: target.from ?? '+15550100',
    To: target.to ?? '+15550199',
  };
}

/** Posts a webhook, signed for the address that the server believes it is reached at. */
export async function postWebhook(
  target: DialTarget,
  url: string,
  fields: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const local = new URL(url);
  const own = new URL(target.webhookUrl);
  local.protocol = own.protocol;
  local.host = own.host;
  const signedUrl = target.publicUrl
    ? target.publicUrl.replace(/\/$/, '') + local.pathname + local.search
    : local.href;
  const response = await fetch(local, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: signatureHeader(target.authToken, signedUrl, fields),
    redirect: 'error',
  });
  return { status: response.status, text: await response.text() };
}

/** `X-Twilio-Signature`: HMAC-SHA1 over the address and the sorted fields, base64. */
export function signatureHeader(
  authToken: string | undefined,
  url: string,
  fields: Readonly<Record<string, string>>,
): Record<string, string> {
  if (authToken === undefined) return {};
  const names = Object.keys(fields).sort();
  const text = url + names.map((name) => `${name}${fields[name]}`).join('');
  return { 'x-twilio-signature': createHmac('sha1', authToken).update(text).digest('base64') };
}

/** The named stream, on the host and port where the server really listens. */
export function localStream(named: string, target: Pick<DialTarget, 'webhookUrl'>): string {
  const url = new URL(named);
  const local = new URL(target.webhookUrl);
  url.protocol = local.protocol === 'https:' ? 'wss:' : 'ws:';
  url.host = local.host;
  return url.href;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

function attribute(attributes: string, name: string): string | null {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return value === undefined ? null : value.replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity);
}
