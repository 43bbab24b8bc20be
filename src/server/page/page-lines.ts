/**
 * What a connection of a page's carries besides the call's audio and words: requests for approval and their buttons,
 * pictures and files.
 *
 * @module
 */

import type { Call } from '../../call/index.ts';
import type { Clock } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import {
  PAGE_PROTOCOL_VERSION,
  type PageCommand,
  type PageEvent,
  type PageLink,
  pageEventSchema,
} from '../../leg/page/index.ts';
import type { Media } from '../../media/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { ApprovalRow } from '../../store/index.ts';
import type { PageApprovals } from './page-approvals.ts';
import type { PageCall } from './page-calls.ts';

export interface PageLinesOptions {
  readonly approvals: PageApprovals | null;
  readonly media: Pick<Media, 'pages'> | null;
  /** A path of ours as a browser gets it. */
  readonly path: (path: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenLine {
  readonly call: PageCall;
  readonly live: Call;
  /** `null` for a client without a channel. */
  readonly link: PageLink | null;
  readonly transport: 'webrtc' | 'socket';
  readonly resumed: boolean;
}

export class PageLines {
  readonly #options: PageLinesOptions;

  constructor(options: PageLinesOptions) {
    this.#options = options;
  }

  /** Before the leg has its call: the page's `welcome` stands before all that the call shows. */
  open(line: OpenLine): PageLine {
    return new PageLine(this.#options, line);
  }
}

export class PageLine {
  readonly #options: PageLinesOptions;
  readonly #line: OpenLine;
  readonly #undo: (() => void)[] = [];
  /** Requests that changed while those that wait were looked up: what was looked up of them is old. */
  #changed: Set<string> | null = null;
  #page: { message(text: string): void; closed(): void } | null = null;
  #isClosed = false;

  constructor(options: PageLinesOptions, line: OpenLine) {
    this.#options = options;
    this.#line = line;
    const { link, call, transport, resumed } = line;
    if (!link) return;
    link.tell({
      type: 'welcome',
      v: PAGE_PROTOCOL_VERSION,
      callId: call.id,
      role: call.user.role,
      transport,
      resumed,
    });
    this.#undo.push(link.on('command', (command) => this.#onCommand(command)));
    const { approvals } = options;
    if (approvals) this.#undo.push(approvals.onChanged((record) => this.#onChanged(record)));
  }

  /** The call is over: the page's last message, where the connection still takes one. */
  end(event: Extract<PageEvent, { type: 'ended' }>): void {
    if (!this.#isClosed) this.#line.link?.tell(event);
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const undo of this.#undo.splice(0)) undo();
    this.#page?.closed();
    this.#page = null;
  }

  get #viewer() {
    const { call, live } = this.#line;
    return { callId: call.id, chatId: live.chatId, user: call.user };
  }

  #onCommand(command: PageCommand): void {
    switch (command.type) {
      case 'hello':
        this.#greet(command.shown);
        break;
      case 'approval.decide':
        this.#inBackground(this.#decide(command));
        break;
      case 'media.receipt':
        this.#page?.message(JSON.stringify({ type: 'media.receipt', id: command.id }));
        break;
      case 'mute':
        this.#line.live.callerMuted(command.muted);
        break;
      // The leg's own.
      case 'text':
      case 'dtmf':
      case 'hangup':
      case 'ping':
        break;
      default:
        command satisfies never;
    }
  }

  #greet(shown: readonly string[]): void {
    const { media } = this.#options;
    // A page that says hello again counts as another one.
    this.#page?.closed();
    this.#page =
      media?.pages.connect(this.#line.call.id, { send: (text) => this.#showMedia(text), close: () => {} }) ??
      null;
    this.#page?.message(JSON.stringify({ type: 'hello', shown }));
    this.#inBackground(this.#showWaiting());
  }

  #showMedia(text: string): void {
    const event = pageEventSchema.safeParse(JSON.parse(text)).data;
    if (event?.type !== 'media') return;
    this.#line.link?.tell({ ...event, url: this.#options.path(event.url) });
  }

  async #showWaiting(): Promise<void> {
    const { approvals } = this.#options;
    if (!approvals) return;
    const changed = new Set<string>();
    this.#changed = changed;
    try {
      for (const record of await approvals.waiting(this.#viewer))
        if (!changed.has(record.id)) this.#line.link?.tell(approvals.event(record, this.#viewer));
    } finally {
      this.#changed = null;
    }
  }

  #onChanged(record: ApprovalRow): void {
    const { approvals } = this.#options;
    if (!approvals?.concerns(record, this.#viewer)) return;
    this.#changed?.add(record.id);
    this.#line.link?.tell(approvals.event(record, this.#viewer));
  }

  async #decide({ id, approve, scope }: Extract<PageCommand, { type: 'approval.decide' }>): Promise<void> {
    const { approvals } = this.#options;
    try {
      if (approvals) await approvals.decide(id, approve, scope, this.#viewer);
      else this.#refuse('APPROVAL_NOT_FOUND', 'There is no gate here.');
    } catch (error) {
      if (isVoiceError(error)) this.#refuse(error.code, error.message);
      else throw error;
    }
  }

  #refuse(code: string, message: string): void {
    this.#line.link?.tell({ type: 'error', code, message: message.slice(0, 500) });
  }

  #inBackground(work: Promise<void>): void {
    this.#options.clock.track(work).catch((error: unknown) => {
      const code = isVoiceError(error) ? error.code : 'INTERNAL';
      this.#options.logger.error({ callId: this.#line.call.id, code }, 'a page could not be served');
    });
  }
}
