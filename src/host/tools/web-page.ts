/**
 * Turns a response into text as it streams in, within bounds.
 *
 * @module
 */

import type { GuardedResponse } from '../guards/index.ts';
import { HtmlText, type HtmlTextMode } from './html-text.ts';
import { clip } from './text-lines.ts';

/** Most bytes of a page that are read, decompressed. */
export const MAX_PAGE_BYTES = 1_500_000;

/** Largest image that is fetched. */
export const MAX_IMAGE_BYTES = 3_000_000;

export interface WebPage {
  readonly extractor: 'json' | 'html' | 'raw';
  readonly text: string;
  /** Whether the page held more than `text`. */
  readonly truncated: boolean;
}

function decoder(contentType: string): TextDecoder {
  const label = /charset\s*=\s*"?([^\s";]+)/.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

/** Where text goes as it arrives. */
interface Reader {
  write(text: string): void;
  readonly isFull: boolean;
  end(): { readonly extractor: WebPage['extractor']; readonly text: string };
}

function htmlReader(mode: HtmlTextMode, limit: number): Reader {
  const html = new HtmlText(mode, limit);
  return {
    write: (text) => html.write(text),
    get isFull() {
      return html.isFull;
    },
    end: () => {
      const { title, text } = html.end();
      return { extractor: 'html', text: title === '' ? text : `# ${title}\n\n${text}` };
    },
  };
}

function plainReader(isJson: boolean, limit: number): Reader {
  const pieces: string[] = [];
  let length = 0;
  return {
    write: (text) => {
      pieces.push(text);
      length += text.length;
    },
    // JSON is laid out once it is all there.
    get isFull() {
      return !isJson && length > limit;
    },
    end: () => {
      const text = pieces.join('');
      if (!isJson) return { extractor: 'raw', text };
      try {
        return { extractor: 'json', text: JSON.stringify(JSON.parse(text), null, 2) };
      } catch {
        return { extractor: 'raw', text };
      }
    },
  };
}

function readerFor(contentType: string, head: string, mode: HtmlTextMode, limit: number): Reader {
  if (/\bjson\b/.test(contentType)) return plainReader(true, limit);
  const looksLikeHtml = /^\s*<(?:!doctype html|html)/i.test(head);
  return /\bx?html\b/.test(contentType) || looksLikeHtml
    ? htmlReader(mode, limit)
    : plainReader(false, limit);
}

/** Reads a page as text of at most `maxChars` characters. */
export async function readPage(
  response: GuardedResponse,
  mode: HtmlTextMode,
  maxChars: number,
): Promise<WebPage> {
  const decode = decoder(response.contentType);
  let reader: Reader | null = null;
  let bytes = 0;
  let stopped = false;
  for await (const chunk of response.body) {
    const room = MAX_PAGE_BYTES - bytes;
    bytes += chunk.length;
    const text = decode.decode(chunk.length > room ? chunk.subarray(0, room) : chunk, { stream: true });
    reader ??= readerFor(response.contentType, text.slice(0, 256), mode, maxChars);
    reader.write(text);
    if (bytes > MAX_PAGE_BYTES || reader.isFull) {
      stopped = true;
      break;
    }
  }
  if (reader === null) return { extractor: 'raw', text: '', truncated: false };
  reader.write(decode.decode());
  const { extractor, text } = reader.end();
  return { extractor, text: clip(text, maxChars), truncated: stopped || text.length > maxChars };
}

/** Reads a whole body, or `null` when it is larger than `maxBytes`. */
export async function readBytes(response: GuardedResponse, maxBytes: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
