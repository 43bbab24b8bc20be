/**
 * Whom a request is for, by what it carries: tokens, ids and cookies name their worker.
 *
 * @module
 */

import { slotOfHex, slotOfSecret } from '../worker-slot.ts';
import type { RequestHead } from './request-head.ts';

/** Characters of the secrets, without the worker's name in front. */
const TOKEN_CHARS = 43;
const NONCE_CHARS = 22;
const CODE_CHARS = 32;

export interface Destination {
  /** The carrier's id of the call: wherever that call is now comes before `slot`. */
  readonly callSid: string | null;
  /** The worker that the request names; `null` when any will do. */
  readonly slot: number | null;
  /** Whether a call comes of it: then the worker with the fewest is the best. */
  readonly isNewCall: boolean;
}

const ANY: Destination = { callSid: null, slot: null, isNewCall: false };
const to = (slot: number | null): Destination => ({ ...ANY, slot });

/** @param prefix - path of `server.publicUrl`, without a trailing slash */
export function destinationOf(head: RequestHead, prefix: string): Destination {
  const [path = '/', query = ''] = stripped(head.target, prefix).split('?', 2);
  const [, room = '', part = '', id = ''] = path.split('/');
  switch (room) {
    case 'twilio':
      return ofTwilio(head, part, id, query);
    case 'page':
      return ofPage(head, part, id, query);
    case 'operator':
      return to(ofOperator(head));
    case 'media':
      return to(part === 'live' ? ofMediaCookie(head) : null);
    default:
      return ANY;
  }
}

/** A call whose stream is over asks what is next. */
export function isResume(head: RequestHead, prefix: string): boolean {
  return head.method === 'POST' && stripped(head.target, prefix).startsWith('/twilio/resume/');
}

function stripped(target: string, prefix: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/i, '');
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

function ofTwilio(head: RequestHead, part: string, id: string, query: string): Destination {
  switch (part) {
    case 'media':
      return to(slotOfSecret(id, TOKEN_CHARS));
    case 'ring':
      return to(slotOfSecret(id, NONCE_CHARS));
    case 'voice':
    case 'status':
    case 'resume': {
      const params = new URLSearchParams(head.method === 'GET' ? query : head.body);
      const callSid = params.get('CallSid')?.slice(0, 64) ?? null;
      return { callSid, slot: part === 'resume' ? slotOfHex(id) : null, isNewCall: part === 'voice' };
    }
    default:
      return ANY;
  }
}

function ofPage(head: RequestHead, part: string, id: string, query: string): Destination {
  if (part === 'socket') return to(slotOfSecret(id, TOKEN_CHARS));
  if (part === 'calls' && id !== '') return to(id.length === 34 ? slotOfHex(id) : null);
  if (part === 'session' && head.method === 'POST')
    return to(ofCode(/"code"\s*:\s*"(g_[\w-]+)"/.exec(head.body)?.[1] ?? ''));
  const again = part === 'calls' ? new URLSearchParams(query).get('call') : null;
  const slot = (again === null ? null : slotOfHex(again)) ?? ofGuest(head) ?? ofOperator(head);
  return { callSid: null, slot, isNewCall: part === 'calls' && head.method === 'POST' };
}

/** A guest comes before an operator: a browser that has both has opened a guest's link since it logged in. */
function ofGuest(head: RequestHead): number | null {
  const code = /^Bearer (g_[\w-]+)$/i.exec(head.header('authorization') ?? '')?.[1];
  if (code !== undefined) return ofCode(code);
  return slotOfSecret(cookie(head, /^(?:__Host-)?nanobot_page$/), TOKEN_CHARS);
}

function ofOperator(head: RequestHead): number | null {
  // With the token itself any worker will do.
  if (head.header('authorization') !== null) return null;
  return slotOfSecret(cookie(head, /^(?:__Host-)?nanobot_operator$/), TOKEN_CHARS);
}

const ofCode = (code: string) => slotOfSecret(code.replace(/^g_/, ''), CODE_CHARS);

/** The seal's first part is the call's id. */
function ofMediaCookie(head: RequestHead): number | null {
  const [text = ''] = cookie(head, /^nrt_page$/).split('.');
  return slotOfHex(Buffer.from(text, 'base64url').toString('latin1'));
}

function cookie(head: RequestHead, name: RegExp): string {
  for (const pair of (head.header('cookie') ?? '').split(/;\s*/)) {
    const mark = pair.indexOf('=');
    if (mark > 0 && name.test(pair.slice(0, mark))) return pair.slice(mark + 1);
  }
  return '';
}
