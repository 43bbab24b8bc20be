/**
 * What a file is, by its bytes and never by its name.
 *
 * @module
 */

import type { MediaKind } from '../store/index.ts';

export interface ContentType {
  readonly mime: string;
  readonly kind: MediaKind;
  /** With its dot. */
  readonly extension: string;
}

interface Magic extends ContentType {
  readonly at: number;
  readonly bytes: string;
  /** A second place that must match, for containers. */
  readonly also?: { readonly at: number; readonly bytes: string };
}

const image = (extension: string, mime: string) => ({ kind: 'image', extension, mime }) as const;
const audio = (extension: string, mime: string) => ({ kind: 'audio', extension, mime }) as const;
const video = (extension: string, mime: string) => ({ kind: 'video', extension, mime }) as const;
const document = (extension: string, mime: string) => ({ kind: 'document', extension, mime }) as const;

/** First bytes, as latin1 text; the first match counts. */
const MAGICS: readonly Magic[] = [
  { ...image('.png', 'image/png'), at: 0, bytes: '\x89PNG\r\n\x1a\n', also: { at: 12, bytes: 'IHDR' } },
  { ...image('.jpg', 'image/jpeg'), at: 0, bytes: '\xff\xd8\xff' },
  { ...image('.gif', 'image/gif'), at: 0, bytes: 'GIF87a' },
  { ...image('.gif', 'image/gif'), at: 0, bytes: 'GIF89a' },
  { ...image('.webp', 'image/webp'), at: 0, bytes: 'RIFF', also: { at: 8, bytes: 'WEBP' } },
  { ...audio('.wav', 'audio/wav'), at: 0, bytes: 'RIFF', also: { at: 8, bytes: 'WAVE' } },
  { ...audio('.ogg', 'audio/ogg'), at: 0, bytes: 'OggS' },
  { ...audio('.mp3', 'audio/mpeg'), at: 0, bytes: 'ID3' },
  { ...audio('.mp3', 'audio/mpeg'), at: 0, bytes: '\xff\xfb' },
  { ...audio('.flac', 'audio/flac'), at: 0, bytes: 'fLaC' },
  { ...audio('.m4a', 'audio/mp4'), at: 4, bytes: 'ftypM4A' },
  { ...video('.mp4', 'video/mp4'), at: 4, bytes: 'ftyp' },
  { ...video('.webm', 'video/webm'), at: 0, bytes: '\x1a\x45\xdf\xa3' },
  { ...document('.pdf', 'application/pdf'), at: 0, bytes: '%PDF-' },
  { ...document('.zip', 'application/zip'), at: 0, bytes: 'PK\x03\x04' },
  { ...document('.gz', 'application/gzip'), at: 0, bytes: '\x1f\x8b' },
];

const TEXT: ContentType = document('.txt', 'text/plain');
const BINARY: ContentType = document('.bin', 'application/octet-stream');

/** Bytes that are looked at for telling text from binary. */
const TEXT_PROBE_BYTES = 64 * 1024;

/** HTML and SVG are text like any other: nothing here is ever called a type that a browser would run. */
export function contentTypeOf(bytes: Uint8Array): ContentType {
  for (const { at, bytes: magic, also, mime, kind, extension } of MAGICS) {
    if (startsWith(bytes, magic, at) && (!also || startsWith(bytes, also.bytes, also.at)))
      return { mime, kind, extension };
  }
  return isText(bytes) ? TEXT : BINARY;
}

/** Types that a page may show in line; everything else is a download. */
export const INLINE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp']);

/** A name without folders, control characters or anything that reads like an address, with the type's own ending. */
export function safeName(name: string, type: ContentType, maxChars: number): string {
  const base = (name.split(/[/\\]/).at(-1) ?? '')
    .normalize('NFC')
    // Control and format characters: a right-to-left override shows a name that it is not.
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"<>:|?*]/gu, '')
    .trim();
  const stem = base.replace(/\.[^.]*$/, '').replace(/^\.+/, '') || 'file';
  return [...stem].slice(0, maxChars - type.extension.length).join('') + type.extension;
}

function startsWith(bytes: Uint8Array, magic: string, at: number): boolean {
  if (bytes.length < at + magic.length) return false;
  for (let index = 0; index < magic.length; index += 1)
    if (bytes[at + index] !== magic.charCodeAt(index)) return false;
  return true;
}

function isText(bytes: Uint8Array): boolean {
  const probe = bytes.subarray(0, TEXT_PROBE_BYTES);
  if (probe.includes(0)) return false;
  try {
    // `stream`: a character that the probe cuts in two is no fault.
    new TextDecoder('utf-8', { fatal: true }).decode(probe, { stream: true });
    return true;
  } catch {
    return false;
  }
}
