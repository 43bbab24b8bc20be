/**
 * The rows of a session file; shapes of nanobot 0.3.0, `session/manager.py` and `agent/loop.py`.
 *
 * @module
 */

import { z } from 'zod';

/** A tool call as chat completions have it; `arguments` is JSON text. */
const toolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const common = {
  /** ISO 8601. */
  timestamp: z.string(),
  /** `voice`: spoken on a call. */
  source: z.string().optional(),
  /** `call id#turn`: the turn that this row is a projection of. */
  voice_turn: z.string().optional(),
};

const rowSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('user'), content: z.unknown(), ...common }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z.unknown(),
    tool_calls: z.array(toolCallSchema).optional(),
    ...common,
  }),
  z.looseObject({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    name: z.string(),
    content: z.unknown(),
    ...common,
  }),
]);

export interface SessionToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

interface RowBase {
  readonly timestamp: string;
  readonly source?: string | undefined;
  readonly voice_turn?: string | undefined;
  /** Text, or a list of content parts. */
  readonly content: unknown;
}

/** One row; keys that we don't know are kept as they are. */
export type SessionRow = RowBase &
  (
    | { readonly role: 'user' }
    | { readonly role: 'assistant'; readonly tool_calls?: readonly SessionToolCall[] | undefined }
    | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string }
  );

/** The first line of a file. */
const metadataSchema = z.looseObject({
  _type: z.literal('metadata'),
  key: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  metadata: z.record(z.string(), z.unknown()).default({}),
  last_consolidated: z.number().default(0),
});

export type SessionMetadataLine = z.output<typeof metadataSchema>;

export interface ParsedSession {
  /** `null` when the first line is not readable. */
  readonly metadata: SessionMetadataLine | null;
  readonly rows: readonly SessionRow[];
  /** Lines that are not rows. */
  readonly damagedLines: number;
}

/** Reads a file's text; what can't be read is counted and left out. */
export function parseSession(text: string): ParsedSession {
  let metadata: SessionMetadataLine | null = null;
  const rows: SessionRow[] = [];
  let damagedLines = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const value = parseLine(line);
    if (metadata === null && rows.length === 0) {
      const head = metadataSchema.safeParse(value);
      if (head.success) {
        metadata = head.data;
        continue;
      }
    }
    const row = rowSchema.safeParse(value);
    if (row.success) rows.push(row.data);
    else damagedLines += 1;
  }
  return { metadata, rows, damagedLines };
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

export function formatSession(metadata: SessionMetadataLine, rows: readonly SessionRow[]): string {
  return `${[metadata, ...rows].map((line) => JSON.stringify(line)).join('\n')}\n`;
}

/** The text of a row's content: a string, or the text parts of a list. */
export function rowText(row: SessionRow): string {
  const { content } = row;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
        ? part.text
        : '',
    )
    .filter((text) => text !== '')
    .join('\n');
}
