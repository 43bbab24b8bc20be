/**
 * What the agent is doing, in a few words.
 *
 * @module
 */

import type { Conversation, Entry } from './conversation.ts';

type Tool = Extract<Entry, { kind: 'tool' }>;

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const lastPart = (path: string) =>
  path
    .replace(/[\\/]+$/, '')
    .split(/[\\/]/)
    .at(-1) || path;

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

function argumentsOf(tool: Tool): Readonly<Record<string, unknown>> {
  if (tool.args === null) return {};
  try {
    const value: unknown = JSON.parse(tool.args);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** `reading notes.md`; guests see no arguments, and read `reading a file`. */
export function toolActivity(tool: Tool): string {
  const args = argumentsOf(tool);
  const path = text(args.path) ?? text(args.file) ?? text(args.file_path);
  const file = path === null ? 'a file' : lastPart(path);
  switch (tool.name) {
    case 'read_file':
      return `reading ${file}`;
    case 'write_file':
      return `writing ${file}`;
    case 'edit_file':
      return `editing ${file}`;
    case 'delete_file':
      return `deleting ${file}`;
    case 'send_file':
      return `sending ${file}`;
    case 'list_dir':
      return path === null || path === '.' ? 'looking at the files' : `looking into ${lastPart(path)}`;
    case 'count_words':
      return 'counting words';
    case 'current_time':
      return 'looking at the clock';
    case 'exec':
      return 'running a command';
    case 'send_test_image':
      return 'preparing a picture';
    case 'send_chart':
      return 'drawing a chart';
    case 'web_search': {
      const query = text(args.query);
      return query === null ? 'searching the web' : `searching for “${query}”`;
    }
    case 'web_fetch': {
      const url = text(args.url);
      return url === null ? 'reading a page' : `reading ${hostOf(url)}`;
    }
    case 'ask_agent':
      return 'asking the agent behind this line';
    case 'end_call':
      return 'saying goodbye';
    default:
      return `using ${tool.name.replaceAll('_', ' ')}`;
  }
}

const cut = (line: string) => (line.length <= 60 ? line : `${line.slice(0, 59)}…`);

/** The one line under the meters. */
export function activity({ state, entries }: Conversation): string {
  const tool = entries.findLast(
    (entry): entry is Tool => entry.kind === 'tool' && entry.status === 'running',
  );
  if (tool && state !== 'speaking' && state !== 'asking' && state !== 'hearing') {
    const doing = cut(toolActivity(tool));
    return `${doing.charAt(0).toUpperCase()}${doing.slice(1)}…`;
  }
  switch (state) {
    case null:
      return 'Connected';
    case 'listening':
      return 'Listening';
    case 'hearing':
      return 'Hearing you';
    case 'thinking':
      return 'Thinking…';
    case 'working':
      return 'Working…';
    case 'speaking':
      return 'Speaking';
    case 'asking':
      return 'Asks for your approval';
    case 'ending':
      return 'Saying goodbye';
    default:
      return state satisfies never;
  }
}
