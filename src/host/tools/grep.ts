/**
 * `grep`: search in the content of files.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { ToolResult } from '../../gateway/index.ts';
import {
  readGuarded,
  resolvePhysical,
  type WalkEntry,
  type WorkspacePolicy,
  type WorkspaceView,
} from '../guards/index.ts';
import { type Tool, type ToolArguments, toolError, toolText } from '../registry-tool.ts';
import { flagArg, integerArg, strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';
import { displayPath, fileFilter, searchTarget } from './file-filter.ts';
import { compilePattern } from './grep-match.ts';
import { GrepSession } from './grep-session.ts';
import { page } from './pages.ts';
import { decodeUtf8 } from './text-lines.ts';

/** Largest file of a folder that is searched. */
export const MAX_GREP_FILE_BYTES = 2_000_000;

/** Largest file that is searched when the call names it. */
export const MAX_GREP_NAMED_BYTES = 16_000_000;

/** Most bytes one search reads. */
export const MAX_GREP_TOTAL_BYTES = 64_000_000;

/** Most characters of one result. */
export const MAX_GREP_CHARS = 128_000;

/** Results returned when the call doesn't say. */
export const DEFAULT_GREP_RESULTS = 250;

/** Lines shown on either side of a match when the call doesn't say; nanobot's since 0.3.5. */
export const DEFAULT_CONTEXT_LINES = 5;

type OutputMode = 'content' | 'files_with_matches' | 'count';

interface Matched {
  readonly path: string;
  readonly matches: number;
  readonly modifiedMs: number;
}

interface Tally {
  readonly files: Matched[];
  readonly blocks: string[];
  skippedBinary: number;
  skippedLarge: number;
  bytes: number;
  chars: number;
}

function outputMode(args: ToolArguments): OutputMode {
  const mode = textArg(args, 'output_mode');
  return mode === 'files_with_matches' || mode === 'count' ? mode : 'content';
}

function resultLimit(args: ToolArguments, mode: OutputMode): number | null {
  const limit = integerArg(args, 'head_limit');
  if (limit !== null) return limit === 0 ? null : limit;
  return integerArg(args, mode === 'content' ? 'max_matches' : 'max_results') ?? DEFAULT_GREP_RESULTS;
}

/** More than a fifth of control characters, or a NUL: not text. */
function isBinary(bytes: Buffer): boolean {
  if (bytes.includes(0)) return true;
  const sample = bytes.subarray(0, 4096);
  const odd = sample.filter((byte) => byte < 9 || (byte > 13 && byte < 32)).length;
  return odd > sample.length / 5;
}

/** The text of an entry; links are read where they lead to, when policy allows that. */
async function entryText(view: WorkspaceView, entry: WalkEntry, maxBytes: number, tally: Tally) {
  if (entry.kind === 'other') return null;
  const physical = entry.kind === 'link' ? await resolvePhysical(entry.path).catch(() => null) : entry.path;
  const file =
    physical === null || !view.allows(physical)
      ? null
      : await readGuarded(view, physical, entry.relative, maxBytes).catch(() => null);
  if (file?.kind === 'too-large') {
    tally.skippedLarge += 1;
    return null;
  }
  const text = file?.kind === 'file' && !isBinary(file.bytes) ? decodeUtf8(file.bytes) : null;
  if (file?.kind !== 'file' || text === null) {
    tally.skippedBinary += 1;
    return null;
  }
  tally.bytes += file.bytes.length;
  return { text, modifiedMs: file.fingerprint.mtimeMs };
}

function rendered(args: ToolArguments, path: string, mode: OutputMode, tally: Tally): string {
  const limit = resultLimit(args, mode);
  const offset = integerArg(args, 'offset') ?? 0;
  const notes: string[] = [];
  const newestFirst = tally.files.toSorted(
    (a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0),
  );
  const results = mode === 'content' ? tally.blocks : newestFirst;
  const { items, note } = page<string | Matched>(results, limit, offset, mode === 'content');
  if (note !== null && results.length > 0) notes.push(note);
  const lines = items.map((item) =>
    typeof item === 'string' ? item : mode === 'count' ? `${item.path}: ${item.matches}` : item.path,
  );
  if (tally.chars > MAX_GREP_CHARS) notes.push('(output truncated due to size)');
  if (tally.bytes > MAX_GREP_TOTAL_BYTES) notes.push('(stopped after 64 MB; search in a smaller folder)');
  if (tally.skippedBinary > 0) notes.push(`(skipped ${tally.skippedBinary} binary/unreadable files)`);
  if (tally.skippedLarge > 0) notes.push(`(skipped ${tally.skippedLarge} large files)`);
  if (mode === 'count' && tally.files.length > 0) {
    const total = tally.files.reduce((sum, each) => sum + each.matches, 0);
    notes.push(`(total matches: ${total} in ${tally.files.length} files)`);
  }
  const pattern = textArg(args, 'pattern') ?? '';
  const body =
    lines.length === 0
      ? `No matches found for pattern '${pattern}' in ${path}`
      : lines.join(mode === 'content' ? '\n\n' : '\n');
  return notes.length === 0 ? body : `${body}\n\n${notes.join('\n')}`;
}

async function search(
  policy: WorkspacePolicy,
  clock: Clock,
  args: ToolArguments,
  signal: AbortSignal,
): Promise<ToolResult> {
  const path = textArg(args, 'path') || '.';
  const view = await policy.view('read');
  const target = await searchTarget(view, await view.resolve(path), path, signal);
  if (target.kind === 'missing') return toolError(`Error: Path not found: ${path}`);
  const pattern = {
    source: textArg(args, 'pattern') ?? '',
    caseInsensitive: flagArg(args, 'case_insensitive'),
    fixed: flagArg(args, 'fixed_strings'),
  };
  try {
    compilePattern(pattern);
  } catch (error) {
    return toolError(`Error: invalid regex pattern: ${error instanceof Error ? error.message : error}`);
  }
  const mode = outputMode(args);
  const filter = fileFilter(args);
  const maxBytes = target.isFile ? MAX_GREP_NAMED_BYTES : MAX_GREP_FILE_BYTES;
  const tally: Tally = { files: [], blocks: [], skippedBinary: 0, skippedLarge: 0, bytes: 0, chars: 0 };
  const session = new GrepSession(pattern, clock, signal);
  try {
    for await (const entry of target.entries) {
      if (entry.kind === 'directory' || !filter.glob(entry.relative) || !filter.type(entry.name)) continue;
      const file = await entryText(view, entry, maxBytes, tally);
      if (file === null) continue;
      const shown = displayPath(view, entry.path, target.root);
      const { matches, blocks } = await session.match({
        text: file.text,
        path: shown,
        blockChars: mode === 'content' ? MAX_GREP_CHARS - tally.chars : 0,
        firstOnly: mode === 'files_with_matches',
        before: integerArg(args, 'context_before') ?? DEFAULT_CONTEXT_LINES,
        after: integerArg(args, 'context_after') ?? DEFAULT_CONTEXT_LINES,
      });
      if (matches > 0) tally.files.push({ path: shown, matches, modifiedMs: file.modifiedMs });
      for (const each of blocks) {
        tally.chars += each.length + 2;
        if (tally.chars > MAX_GREP_CHARS) break;
        tally.blocks.push(each);
      }
      if (tally.chars > MAX_GREP_CHARS || tally.bytes > MAX_GREP_TOTAL_BYTES) break;
    }
  } finally {
    await session.close();
  }
  return toolText(rendered(args, path, mode, tally));
}

export function grepTool(policy: WorkspacePolicy, clock: Clock): Tool {
  const count = (description: string) => ({ type: 'integer', minimum: 0, maximum: 20, description });
  return {
    name: 'grep',
    description:
      'Search the content of files with a regular expression. Returns the lines that match with what is around them; ' +
      "set output_mode to 'files_with_matches' for paths, 'count' for numbers. Binary and very large files are passed over.",
    parameters: strictParameters(
      {
        pattern: {
          type: 'string',
          minLength: 1,
          maxLength: 2000,
          description: 'Regular expression or plain text',
        },
        path: { type: 'string', description: "Folder or file to search in (default '.')" },
        glob: { type: 'string', description: "File pattern, e.g. '*.md' or 'notes/**/*.txt'" },
        type: { type: 'string', description: "File type, e.g. 'py', 'ts', 'md', 'json'" },
        case_insensitive: { type: 'boolean', description: 'Ignore case (default false)' },
        fixed_strings: { type: 'boolean', description: 'The pattern is plain text (default false)' },
        output_mode: {
          type: 'string',
          enum: ['content', 'files_with_matches', 'count'],
          description:
            'content: matches with context (default); files_with_matches: paths; count: matches per file',
        },
        context_before: count(`Lines to show before each match (default ${DEFAULT_CONTEXT_LINES})`),
        context_after: count(`Lines to show after each match (default ${DEFAULT_CONTEXT_LINES})`),
        max_matches: { type: 'integer', minimum: 1, maximum: 1000, description: 'head_limit for content' },
        max_results: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          description: 'head_limit for the other modes',
        },
        head_limit: {
          type: 'integer',
          minimum: 0,
          maximum: 1000,
          description: `Most results to return (default ${DEFAULT_GREP_RESULTS})`,
        },
        offset: { type: 'integer', minimum: 0, maximum: 100_000, description: 'Results to skip' },
      },
      ['pattern'],
    ),
    readOnly: true,
    execute: (args, { signal }) =>
      reportingFailure('Error searching files', signal, () => search(policy, clock, args, signal)),
  };
}
