/**
 * A web page as text, parsed as it streams in: headings, lists and links kept, navigation and scripts left out.
 *
 * @module
 */

import type { Parser } from 'htmlparser2';
import { htmlparser2 } from '../../lazy.ts';

export type HtmlTextMode = 'markdown' | 'text';

/** Main content shorter than this is taken for a stub, and the whole page is shown instead. */
const MIN_MAIN_CHARS = 200;

/** Longest title kept. */
const MAX_TITLE_CHARS = 300;

const SKIPPED: ReadonlySet<string> = new Set([
  ...['script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe', 'object', 'video', 'audio'],
  ...['nav', 'footer', 'aside', 'button', 'select', 'textarea', 'dialog'],
]);
const PARAGRAPHS: ReadonlySet<string> = new Set([
  ...[
    'p',
    'div',
    'section',
    'article',
    'main',
    'header',
    'blockquote',
    'ul',
    'ol',
    'dl',
    'table',
    'pre',
    'form',
  ],
  ...['figure', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
]);
const LINES: ReadonlySet<string> = new Set(['br', 'hr', 'li', 'tr', 'dt', 'dd', 'figcaption', 'option']);

/** Text with collapsed blanks and at most one empty line in a row; takes no more than it is asked for. */
class TextSink {
  readonly #limit: number;
  readonly #pieces: string[] = [];
  #length = 0;
  #breaks = 0;
  #gap = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return this.#length > this.#limit;
  }

  breakLine(count: 1 | 2): void {
    if (this.#length > 0) this.#breaks = Math.max(this.#breaks, count);
    this.#gap = false;
  }

  /** Text as it is, after whatever break was due. */
  #put(piece: string): void {
    if (this.isFull) return;
    const lead = this.#breaks > 0 ? '\n'.repeat(this.#breaks) : this.#gap ? ' ' : '';
    this.#breaks = 0;
    this.#gap = false;
    this.#pieces.push(lead + piece);
    this.#length += lead.length + piece.length;
  }

  write(text: string): void {
    const collapsed = text.replace(/\s+/g, ' ');
    if (collapsed.startsWith(' ') && this.#length > 0) this.#gap = true;
    const trimmed = collapsed.trim();
    if (trimmed === '') return;
    this.#put(trimmed);
    this.#gap = collapsed.endsWith(' ');
  }

  writeAsIs(text: string): void {
    if (text !== '') this.#put(text);
  }

  get text(): string {
    return this.#pieces.join('');
  }
}

interface OpenLink {
  readonly href: string;
  readonly text: string[];
}

export class HtmlText {
  readonly #mode: HtmlTextMode;
  readonly #whole: TextSink;
  readonly #main: TextSink;
  readonly #parser: Parser;
  #title = '';
  #inTitle = false;
  #skipDepth = 0;
  #mainDepth = 0;
  #preDepth = 0;
  #link: OpenLink | null = null;

  /** @param limit - characters wanted; a little more may come */
  constructor(mode: HtmlTextMode, limit: number) {
    this.#mode = mode;
    this.#whole = new TextSink(limit);
    this.#main = new TextSink(limit);
    this.#parser = new (htmlparser2().Parser)(
      {
        onopentag: (name, attributes) => this.#open(name, attributes),
        ontext: (text) => this.#text(text),
        onclosetag: (name) => this.#close(name),
      },
      { decodeEntities: true },
    );
  }

  write(chunk: string): void {
    this.#parser.write(chunk);
  }

  /** True when more of the page would change nothing. */
  get isFull(): boolean {
    return this.#main.isFull || (this.#whole.isFull && this.#main.length === 0);
  }

  end(): { readonly title: string; readonly text: string } {
    this.#parser.end();
    const text = this.#main.length >= MIN_MAIN_CHARS ? this.#main.text : this.#whole.text;
    return { title: this.#title.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARS), text };
  }

  #sinks(): TextSink[] {
    return this.#mainDepth > 0 ? [this.#whole, this.#main] : [this.#whole];
  }

  #break(name: string): void {
    const count = PARAGRAPHS.has(name) ? 2 : LINES.has(name) ? 1 : 0;
    if (count === 0) return;
    if (this.#link !== null) this.#link.text.push(' ');
    else for (const sink of this.#sinks()) sink.breakLine(count);
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (SKIPPED.has(name)) this.#skipDepth += 1;
    if (name === 'title' && this.#title === '') this.#inTitle = true;
    if (this.#skipDepth > 0) return;
    if (name === 'main' || name === 'article') this.#mainDepth += 1;
    if (name === 'pre') this.#preDepth += 1;
    this.#break(name);
    if (name === 'td' || name === 'th') this.#write(' ');
    if (this.#mode === 'text') return;
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#write(`${'#'.repeat(Number(level))} `);
    else if (name === 'li') this.#write('- ');
    else if (name === 'a' && attributes.href !== undefined && this.#link === null) {
      this.#link = { href: attributes.href.trim(), text: [] };
    }
  }

  #text(text: string): void {
    if (this.#inTitle) {
      if (this.#title.length < MAX_TITLE_CHARS) this.#title += text;
      return;
    }
    if (this.#skipDepth > 0) return;
    if (this.#link !== null) this.#link.text.push(text);
    else if (this.#preDepth > 0) for (const sink of this.#sinks()) sink.writeAsIs(text);
    else this.#write(text);
  }

  #write(text: string): void {
    for (const sink of this.#sinks()) sink.write(text);
  }

  #close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    if (SKIPPED.has(name)) {
      this.#skipDepth = Math.max(0, this.#skipDepth - 1);
      return;
    }
    if (this.#skipDepth > 0) return;
    if (name === 'a') this.#closeLink();
    this.#break(name);
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth - 1);
    if (name === 'main' || name === 'article') this.#mainDepth = Math.max(0, this.#mainDepth - 1);
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = null;
    if (link === null) return;
    const text = link.text.join('').replace(/\s+/g, ' ');
    // A link to a part of the page or to a script says nothing to a reader.
    const isUseful = text.trim() !== '' && /^(?:https?:|\/|\.|[^#:]+$)/i.test(link.href);
    this.#write(isUseful ? text.replace(text.trim(), () => `[${text.trim()}](${link.href})`) : text);
  }
}
