/**
 * `edit_file`: replaces a text in a file. An edit of a file that the session has not read, or not since it
 * changed, is done and says so, as nanobot has it.
 *
 * @module
 */

import { extname } from 'node:path';
import { currentFileStates, type ToolResult } from '../../gateway/index.ts';
import {
  type PathLocks,
  readGuarded,
  type WorkspacePolicy,
  type WorkspaceView,
  writeGuarded,
} from '../guards/index.ts';
import { type Tool, type ToolArguments, toolError, toolText } from '../registry-tool.ts';
import { flagArg, integerArg, strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';
import { displayPath } from './file-filter.ts';
import { lineChanges } from './line-changes.ts';
import { applyEdit } from './text-edit.ts';
import { decodeUtf8 } from './text-lines.ts';

/** Largest file that is edited. */
export const MAX_EDIT_BYTES = 4 * 1024 * 1024;

const MARKDOWN: ReadonlySet<string> = new Set(['.md', '.mdx', '.markdown']);

/** The change in nanobot's words (since 0.3.5). */
function summary(view: WorkspaceView, physical: string, before: string | null, after: string): string {
  const { added, deleted } = lineChanges(before ?? '', after);
  const stats = added + deleted > 0 ? ` (+${added}/-${deleted})` : '';
  return `Patch applied:\n- ${before === null ? 'add' : 'update'} ${displayPath(view, physical, view.root)}${stats}`;
}

async function save(view: WorkspaceView, physical: string, path: string, content: string): Promise<void> {
  const fingerprint = await writeGuarded(view, physical, path, Buffer.from(content, 'utf8'));
  currentFileStates()?.recordWrite(physical, fingerprint);
}

async function edit(
  view: WorkspaceView,
  physical: string,
  path: string,
  args: ToolArguments,
): Promise<ToolResult> {
  const oldText = textArg(args, 'old_text') ?? '';
  const newText = textArg(args, 'new_text') ?? '';
  const file = await readGuarded(view, physical, path, MAX_EDIT_BYTES);
  switch (file.kind) {
    case 'missing':
      if (oldText !== '') return toolError(`Error: File not found: ${path}`);
      await save(view, physical, path, newText);
      return toolText(summary(view, physical, null, newText));
    case 'not-a-file':
      return toolError(`Error: Not a file: ${path}`);
    case 'too-large':
      return toolError(`Error: File too large to edit. Maximum is ${MAX_EDIT_BYTES / 1024 / 1024} MiB.`);
    case 'file':
      break;
  }
  if (oldText === newText) return toolError('Error: new_text must be different from old_text.');
  const raw = decodeUtf8(file.bytes);
  if (raw === null) throw new Error('not a UTF-8 text file');
  if (oldText === '') {
    if (raw.trim() !== '') {
      return toolError(`Error: Cannot create file — ${path} already exists and is not empty.`);
    }
    await save(view, physical, path, newText);
    return toolText(summary(view, physical, raw, newText));
  }
  const warning = currentFileStates()?.editWarning(physical, file.fingerprint) ?? null;
  const outcome = applyEdit(raw, {
    path,
    oldText,
    newText,
    replaceAll: flagArg(args, 'replace_all'),
    occurrence: integerArg(args, 'occurrence'),
    lineHint: integerArg(args, 'line_hint'),
    expectedReplacements: integerArg(args, 'expected_replacements'),
    keepTrailingBlanks: MARKDOWN.has(extname(physical).toLowerCase()),
  });
  switch (outcome.kind) {
    case 'failed':
      return toolError(outcome.message);
    case 'ambiguous':
      return toolText(outcome.message);
    case 'edited':
      await save(view, physical, path, outcome.content);
      return toolText(
        `${warning === null ? '' : `${warning}\n`}${summary(view, physical, raw, outcome.content)}`,
      );
    default:
      return outcome satisfies never;
  }
}

export function editFileTool(policy: WorkspacePolicy, locks: PathLocks): Tool {
  const counted = (description: string) => ({ type: ['integer', 'null'], minimum: 1, description });
  return {
    name: 'edit_file',
    description:
      'Replace old_text by new_text in one file. Copy old_text from read_file, without the line numbers. When it ' +
      'occurs more than once, give more of it, or occurrence, line_hint or replace_all.',
    parameters: strictParameters(
      {
        path: { type: 'string', description: 'The file to edit, relative to the workspace' },
        old_text: { type: 'string', description: 'The text to replace; empty to create a file' },
        new_text: { type: 'string', description: 'What to put in its place' },
        replace_all: { type: 'boolean', description: 'Replace every occurrence (default false)' },
        occurrence: counted('Which occurrence to replace, counted from 1'),
        line_hint: counted('A line that the occurrence covers, as read_file numbers it'),
        expected_replacements: counted('Refuse the edit unless it makes this many replacements'),
      },
      ['path', 'old_text', 'new_text'],
    ),
    execute: (args, { signal }) =>
      reportingFailure('Error editing file', signal, async () => {
        const path = textArg(args, 'path');
        if (path === null || path === '') throw new Error('Unknown path');
        const view = await policy.view('write');
        const physical = await view.resolve(path);
        return locks.run(physical, async () => {
          signal.throwIfAborted();
          return edit(view, physical, path, args);
        });
      }),
  };
}
