/**
 * Our end of a page's channel: what the page says, parsed and bounded; what it is told, cut to what its role may see,
 * split, and held back while the channel is full. The leg owns the transport; the server listens to what is not audio.
 *
 * @module
 */

import { Emitter } from '../../emitter.ts';
import type { ShowEvent } from '../contract.ts';
import { MessageJoiner, MessageSplitter } from './parts.ts';
import {
  MAX_SHOWN_CHARS,
  type PageCommand,
  type PageEvent,
  type PageRole,
  pageCommandSchema,
} from './protocol.ts';

/** A data channel, or a WebSocket's text side. */
export interface PageTransport {
  /** Bytes accepted and not sent yet. */
  readonly bufferedAmount: number;
  /** Whether `send` can be called now. */
  readonly isOpen: boolean;
  send(text: string): void;
}

/** Nothing that can be left out is sent while so much waits. */
export const SHOW_HIGH_WATER_BYTES = 256_000;
/** Messages that wait until the channel opens; the oldest of those that can be left out go first. */
export const MAX_WAITING_EVENTS = 256;
/** Messages of a page's in one second; over it they are refused. */
export const MAX_COMMANDS_PER_SECOND = 50;
/** Messages that were no messages; after so many nothing more is read. */
export const MAX_BAD_MESSAGES = 20;

export interface PageLinkEvents {
  /** What the page said, `hello` first. */
  command: [command: PageCommand];
  /** The page spoke another language for too long: the leg should close. */
  refused: [];
}

export class PageLink extends Emitter<PageLinkEvents> {
  readonly role: PageRole;
  readonly #now: () => number;
  readonly #splitter = new MessageSplitter();
  readonly #joiner = new MessageJoiner();
  #transport: PageTransport | null = null;
  #waiting: PageEvent[] = [];
  #greeted = false;
  #bad = 0;
  #second = 0;
  #inSecond = 0;
  /** Events that were left out because the channel was full. */
  dropped = 0;

  /** @param now - monotonic ms */
  constructor(role: PageRole, now: () => number) {
    super();
    this.role = role;
    this.#now = now;
  }

  /** The page said hello: what waited has gone to it. */
  get isReady(): boolean {
    return this.#greeted;
  }

  /** The channel is open; what waits is sent once the page said hello. */
  opened(transport: PageTransport): void {
    this.#transport = transport;
  }

  closed(): void {
    this.#transport = null;
    this.#waiting = [];
    this.removeAllListeners();
  }

  /** One wire message of the page's. */
  receive(wire: string): void {
    if (this.#bad >= MAX_BAD_MESSAGES) return;
    let value: unknown;
    try {
      value = this.#joiner.join(wire);
    } catch {
      this.#refuse('PAGE_MESSAGE', 'That was no message.');
      return;
    }
    if (value === undefined) return;
    const second = Math.floor(this.#now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
    }
    if (++this.#inSecond > MAX_COMMANDS_PER_SECOND) {
      this.#refuse('PAGE_MESSAGE', 'Too many messages in one second.');
      return;
    }
    const command = pageCommandSchema.safeParse(value).data;
    if (!command || (!this.#greeted && command.type !== 'hello')) {
      this.#refuse('PAGE_MESSAGE', 'The message is not one of this protocol, or came before hello.');
      return;
    }
    if (command.type === 'ping') {
      this.tell({ type: 'pong', n: command.n });
      return;
    }
    if (command.type === 'hello' && !this.#greeted) {
      this.#greeted = true;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const event of waiting) this.tell(event);
    }
    this.emit('command', command);
  }

  /** What the call shows, as far as this page may see it. */
  show(event: ShowEvent): void {
    this.tell(pageEvent(event, this.role));
  }

  /** Sends a message, or holds it until the page said hello. */
  tell(event: PageEvent): void {
    const transport = this.#transport;
    if (!this.#greeted || !transport?.isOpen) {
      if (this.#waiting.length >= MAX_WAITING_EVENTS) this.#dropOldest();
      this.#waiting.push(event);
      return;
    }
    if (transport.bufferedAmount > SHOW_HIGH_WATER_BYTES && canBeLeftOut(event)) {
      this.dropped++;
      return;
    }
    try {
      for (const part of this.#splitter.split(JSON.stringify(event))) transport.send(part);
    } catch {
      this.dropped++;
    }
  }

  #dropOldest(): void {
    const index = this.#waiting.findIndex(canBeLeftOut);
    this.#waiting.splice(Math.max(0, index), 1);
    this.dropped++;
  }

  #refuse(code: string, message: string): void {
    this.#bad++;
    this.tell({ type: 'error', code, message });
    if (this.#bad >= MAX_BAD_MESSAGES) this.emit('refused');
  }
}

/** Shown a moment later anyway, or of no use later. */
function canBeLeftOut(event: PageEvent): boolean {
  switch (event.type) {
    case 'state':
    case 'latency':
    case 'quality':
    case 'pong':
    case 'error':
      return true;
    case 'transcript':
      return !event.final;
    case 'tool':
      return event.phase === 'progress';
    default:
      return false;
  }
}

function pageEvent(event: ShowEvent, role: PageRole): PageEvent {
  switch (event.type) {
    case 'transcript':
    case 'heard':
      return { ...event, text: cut(event.text) };
    case 'tool': {
      const { args, output, ...shown } = event;
      if (role === 'guest') return shown;
      return {
        ...shown,
        ...(args !== undefined && { args: cut(args) }),
        ...(output !== undefined && { output: cut(output) }),
      };
    }
    case 'state':
    case 'latency':
      return event;
    default:
      return event satisfies never;
  }
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN_CHARS
    ? text
    : `${text.slice(0, MAX_SHOWN_CHARS)}\n[${text.length - MAX_SHOWN_CHARS} more characters]`;
}
