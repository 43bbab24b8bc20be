/**
 * Signed links: each opens one attachment of one delivery, for one purpose, for one session, until a moment.
 *
 * @module
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OutboxRow } from '../store/index.ts';

/** `page`: the caller's page shows it. `carrier`: a carrier fetches it. `reader`: a person opens it from an SMS. */
export type LinkPurpose = 'page' | 'carrier' | 'reader';

const PATHS: Readonly<Record<LinkPurpose, string>> = {
  page: '/media/p/',
  carrier: '/media/c/',
  reader: '/media/m/',
};

/** 128 bits: an attacker gets no oracle to try more against. */
const MAC_BYTES = 16;
const TOKEN = /^([\w-]{16})\.([0-9a-z]{1,10})\.([\w-]{22})$/;

export interface ParsedLink {
  readonly deliveryId: string;
  readonly expiresAt: number;
  readonly mac: string;
}

type LinkedRow = Pick<OutboxRow, 'deliveryId' | 'tenant' | 'event' | 'attachmentId'>;

export class LinkSigner {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /**
   * @param session - the page's session, or an empty text where there is none
   * @returns path of the link, to be put behind an address
   */
  path(purpose: LinkPurpose, row: LinkedRow, session: string, expiresAt: number): string {
    const mac = this.#mac(purpose, row, session, expiresAt).toString('base64url');
    return `${PATHS[purpose]}${row.deliveryId}.${expiresAt.toString(36)}.${mac}`;
  }

  /** Whether the link was made by us for exactly this, and is not over. */
  verify(link: ParsedLink, purpose: LinkPurpose, row: LinkedRow, session: string, now: number): boolean {
    const mac = Buffer.from(link.mac, 'base64url');
    const right = this.#mac(purpose, row, session, link.expiresAt);
    return mac.length === MAC_BYTES && timingSafeEqual(mac, right) && link.expiresAt > now;
  }

  /** A statement that only we can make, e.g. who a page belongs to; for a cookie. */
  seal(what: string, text: string, expiresAt: number): string {
    const body = `${Buffer.from(text).toString('base64url')}.${expiresAt.toString(36)}`;
    return `${body}.${this.#sealMac(what, body).toString('base64url')}`;
  }

  /** The text of a seal that is ours and not over; `null` otherwise. */
  unseal(what: string, sealed: string, now: number): string | null {
    const [text = '', expiry = '', mac = ''] = sealed.length > 1024 ? [] : sealed.split('.');
    const given = Buffer.from(mac, 'base64url');
    const right = this.#sealMac(what, `${text}.${expiry}`);
    if (given.length !== MAC_BYTES || !timingSafeEqual(given, right)) return null;
    return Number.parseInt(expiry, 36) > now ? Buffer.from(text, 'base64url').toString() : null;
  }

  #mac(purpose: LinkPurpose, row: LinkedRow, session: string, expiresAt: number): Buffer {
    const { deliveryId, tenant, event, attachmentId } = row;
    const bound = [purpose, deliveryId, tenant, event.callId, event.turn, attachmentId, session, expiresAt];
    return this.#hmac('link', JSON.stringify(bound));
  }

  #sealMac(what: string, body: string): Buffer {
    return this.#hmac('seal', JSON.stringify([what, body]));
  }

  #hmac(use: string, text: string): Buffer {
    return createHmac('sha256', this.#key).update(`${use}\0${text}`).digest().subarray(0, MAC_BYTES);
  }
}

/** Cut into its parts, nothing believed yet; `null` when it can't be one of ours. */
export function parseLink(token: string): ParsedLink | null {
  const match = TOKEN.exec(token);
  if (!match) return null;
  const [, deliveryId = '', expiry = '', mac = ''] = match;
  return { deliveryId, expiresAt: Number.parseInt(expiry, 36), mac };
}

/** The key of this installation: made once, 0600, beside the data. */
export async function loadSigningKey(file: string): Promise<Uint8Array> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      const key = randomBytes(32);
      await handle.writeFile(key.toString('hex'));
      await handle.sync();
      return key;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error;
  }
  await chmod(file, 0o600);
  const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'hex');
  // A start that a crash cut off between making the file and filling it.
  if (key.length < 32)
    throw new Error('The key that signs links is damaged; remove the file to have a new one.');
  return key;
}
