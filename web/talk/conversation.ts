/**
 * What the page shows of a call, made from what it is told: pure, one event after the other.
 *
 * @module
 */

import type { PageEvent } from '../../src/leg/page/protocol.ts';

/** Entries kept on the page; the oldest go. */
export const MAX_ENTRIES = 500;

type EventOf<T extends PageEvent['type']> = Extract<PageEvent, { type: T }>;
export type ShownApproval = Omit<EventOf<'approval'>, 'type'>;
export type ShownMedia = Omit<EventOf<'media'>, 'type'>;

export type Entry =
  | {
      readonly kind: 'said';
      readonly key: string;
      readonly role: 'user' | 'assistant';
      readonly text: string;
      /** What was heard of it, where it was cut; `null` where it was not. */
      readonly heard: string | null;
      readonly final: boolean;
      readonly typed: boolean;
    }
  | {
      readonly kind: 'tool';
      readonly key: string;
      readonly name: string;
      /** `left`: it still ran when the call ended. */
      readonly status: 'running' | 'done' | 'failed' | 'left';
      readonly args: string | null;
      readonly progress: string | null;
      /** The request that it waits for, or waited for: its id. */
      readonly approval: string | null;
      readonly output: string | null;
      readonly startedAt: number;
      readonly endedAt: number | null;
    }
  | { readonly kind: 'approval'; readonly key: string; readonly approval: ShownApproval }
  | { readonly kind: 'media'; readonly key: string; readonly media: ShownMedia }
  | { readonly kind: 'note'; readonly key: string; readonly text: string };

export interface Conversation {
  readonly entries: readonly Entry[];
  readonly state: EventOf<'state'>['state'] | null;
  /** Of the last turn. */
  readonly latency: { readonly latencyMs: number; readonly toolMs: number } | null;
}

export const EMPTY_CONVERSATION: Conversation = { entries: [], state: null, latency: null };

function put(conversation: Conversation, key: string, make: (before: Entry | undefined) => Entry | null) {
  const { entries } = conversation;
  const index = entries.findLastIndex((entry) => entry.key === key);
  const entry = make(entries[index]);
  if (index < 0) {
    if (entry === null) return conversation;
    return { ...conversation, entries: [...entries, entry].slice(-MAX_ENTRIES) };
  }
  return {
    ...conversation,
    entries: entry === null ? entries.toSpliced(index, 1) : entries.with(index, entry),
  };
}

/** @param now - ms since 1970 */
export function told(conversation: Conversation, event: PageEvent, now: number): Conversation {
  switch (event.type) {
    case 'transcript':
      return put(conversation, `said-${event.role}-${event.itemId}`, (entry) => {
        const before = entry?.kind === 'said' ? entry : null;
        const text = event.append ? (before?.text ?? '') + event.text : event.text;
        // A sound in which there was nothing to understand.
        if (event.final && text.trim() === '') return null;
        const { key, role } = { key: `said-${event.role}-${event.itemId}`, role: event.role };
        return {
          kind: 'said',
          key,
          role,
          text,
          heard: before?.heard ?? null,
          final: event.final,
          typed: false,
        };
      });
    case 'heard':
      return put(conversation, `said-assistant-${event.itemId}`, (entry) => {
        if (entry?.kind !== 'said') return null;
        return { ...entry, heard: event.text, final: true };
      });
    case 'tool':
      return put(conversation, `tool-${event.callId}`, (entry) => {
        const before = entry?.kind === 'tool' ? entry : null;
        const isOver = event.phase === 'ended';
        return {
          kind: 'tool',
          key: `tool-${event.callId}`,
          name: event.name,
          status: !isOver ? 'running' : event.isError ? 'failed' : 'done',
          args: event.args ?? before?.args ?? null,
          approval: before?.approval ?? null,
          progress: event.phase === 'progress' ? (event.output ?? null) : (before?.progress ?? null),
          output: isOver ? (event.output ?? null) : null,
          startedAt: before?.startedAt ?? now,
          endedAt: isOver ? now : null,
        };
      });
    case 'approval': {
      const { type: _, ...approval } = event;
      return put(linked(conversation, approval), `approval-${event.id}`, () => ({
        kind: 'approval',
        key: `approval-${event.id}`,
        approval,
      }));
    }
    case 'media': {
      const { type: _, ...media } = event;
      const key = `media-${event.id}`;
      // Told again after a reconnect: a picture that is on the screen stays as it is.
      return put(conversation, key, (before) => before ?? { kind: 'media', key, media });
    }
    case 'state':
      return { ...conversation, state: event.state };
    case 'latency':
      return { ...conversation, latency: { latencyMs: event.latencyMs, toolMs: event.toolMs } };
    case 'welcome':
      return event.resumed ? noted(conversation, 'The line is back.', now) : conversation;
    case 'ended':
      return over(conversation, now);
    case 'quality':
    case 'pong':
    case 'error':
      return conversation;
    default:
      return event satisfies never;
  }
}

/** The tool call that a new request is about: the newest of that tool that has none yet. */
function linked(conversation: Conversation, approval: ShownApproval): Conversation {
  const { entries } = conversation;
  const isKnown = entries.some((entry) => entry.kind === 'tool' && entry.approval === approval.id);
  if (isKnown || approval.status !== 'pending') return conversation;
  const index = entries.findLastIndex(
    (entry) => entry.kind === 'tool' && entry.name === approval.tool && entry.approval === null,
  );
  const tool = entries[index];
  if (tool?.kind !== 'tool') return conversation;
  return { ...conversation, entries: entries.with(index, { ...tool, approval: approval.id }) };
}

/** How a tool call stands: one that was asked about is done when what was approved is done. */
export function toolStatus(
  tool: Extract<Entry, { kind: 'tool' }>,
  entries: readonly Entry[],
): Extract<Entry, { kind: 'tool' }>['status'] | 'asked' | 'not_done' {
  if (tool.approval === null) return tool.status;
  const request = entries.find((entry) => entry.kind === 'approval' && entry.approval.id === tool.approval);
  if (request?.kind !== 'approval') return tool.status;
  switch (request.approval.status) {
    case 'pending':
      return 'asked';
    case 'approved':
    case 'executing':
      return 'running';
    case 'executed':
      return 'done';
    case 'failed':
    case 'unknown':
      return 'failed';
    case 'denied':
    case 'expired':
    case 'cancelled':
      return 'not_done';
    default:
      return request.approval.status satisfies never;
  }
}

/** The call is over: what still runs is no longer told of. */
export function over(conversation: Conversation, now: number): Conversation {
  const entries = conversation.entries.map((entry) =>
    entry.kind === 'tool' && entry.status === 'running'
      ? { ...entry, status: 'left' as const, endedAt: now }
      : entry,
  );
  return { ...conversation, entries, state: null };
}

/** The caller typed it; nobody tells it back. */
export function typed(conversation: Conversation, text: string, now: number): Conversation {
  const key = `typed-${now}-${conversation.entries.length}`;
  return put(conversation, key, () => ({
    kind: 'said',
    key,
    role: 'user',
    text,
    heard: null,
    final: true,
    typed: true,
  }));
}

export function noted(conversation: Conversation, text: string, now: number): Conversation {
  const key = `note-${now}-${conversation.entries.length}`;
  return put(conversation, key, () => ({ kind: 'note', key, text }));
}

/** Deliveries on the screen, newest last: what a new connection need not show again. */
export function shownIds({ entries }: Conversation): string[] {
  return entries.flatMap((entry) => (entry.kind === 'media' ? [entry.media.id] : []));
}

const words = (text: string) => [...text.matchAll(/\S+/g)];
const bare = (word: string) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Cuts a text where the caller stopped hearing it. Spaces and marks may differ between the two. */
export function splitHeard(text: string, heard: string | null): { heard: string; unheard: string } {
  if (heard === null) return { heard: text, unheard: '' };
  if (text.startsWith(heard)) return { heard, unheard: text.slice(heard.length) };
  let end = 0;
  const said = words(text);
  for (const [index, [word]] of words(heard).entries()) {
    const match = said[index];
    if (!match || bare(match[0]) !== bare(word)) return { heard, unheard: '' };
    end = match.index + match[0].length;
  }
  return { heard: text.slice(0, end), unheard: text.slice(end) };
}
