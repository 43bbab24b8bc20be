/**
 * The beginning of a connection's first request, read only far enough to know whom it is for. Nothing here decides what a
 * request may do: the worker parses it anew, and a request that names the wrong worker finds nothing there.
 *
 * @module
 */

/** Largest head, and largest body that is looked into. */
export const MAX_PEEKED_HEAD_BYTES = 16 * 1024;
export const MAX_PEEKED_BODY_BYTES = 16 * 1024;

/** The worker is named in the body of these. */
const IN_BODY = /\/(?:twilio\/(?:voice|status|resume\/[^/]*\/[^/]*)|page\/session)\/?(?:\?.*)?$/;

export interface RequestHead {
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  header(name: string): string | null;
  /** Empty unless the worker is named in it. */
  readonly body: string;
}

export type Peeked =
  | { readonly kind: 'more' }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'head'; readonly head: RequestHead };

const END = Buffer.from('\r\n\r\n');

/** @param bytes - all that came so far */
export function peekRequest(bytes: Buffer): Peeked {
  const end = bytes.indexOf(END);
  if (end < 0 || end > MAX_PEEKED_HEAD_BYTES)
    return { kind: bytes.length > MAX_PEEKED_HEAD_BYTES ? 'too_large' : 'more' };
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const headers = new Map<string, string>();
  for (const each of lines) {
    const colon = each.indexOf(':');
    if (colon > 0) headers.set(each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim());
  }
  const header = (name: string) => headers.get(name) ?? null;
  const from = end + END.length;
  const length = bodyLength(method, target, header);
  if (bytes.length < from + length) return { kind: 'more' };
  const body = bytes.subarray(from, from + length).toString('latin1');
  return { kind: 'head', head: { method, target, header, body } };
}

function bodyLength(method: string, target: string, header: (name: string) => string | null): number {
  // Who waits for our word before the body is not to be waited for.
  if (method !== 'POST' || header('expect') !== null || !IN_BODY.test(target)) return 0;
  const length = /^\d{1,6}$/.test(header('content-length') ?? '') ? Number(header('content-length')) : 0;
  return length <= MAX_PEEKED_BODY_BYTES ? length : 0;
}
