/**
 * Which files a search looks at: by glob and by type, as `find_files` and `grep` share it.
 *
 * @module
 */

import { basename, dirname, relative } from 'node:path';
import { asRefusal, errorCode, isWithin, type WalkEntry, type WorkspaceView, walk } from '../guards/index.ts';
import type { ToolArguments } from '../registry-tool.ts';
import { textArg } from './arguments.ts';
import { compileGlob } from './glob.ts';

const TYPE_EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  py: ['py', 'pyi'],
  python: ['py', 'pyi'],
  js: ['js', 'jsx', 'mjs', 'cjs'],
  ts: ['ts', 'tsx', 'mts', 'cts'],
  md: ['md', 'mdx'],
  markdown: ['md', 'mdx'],
  rust: ['rs'],
  sh: ['sh', 'bash'],
  yaml: ['yaml', 'yml'],
  yml: ['yaml', 'yml'],
  html: ['html', 'htm'],
  css: ['css', 'scss', 'sass'],
};

/** Predicate from the `glob` argument and the `type` argument. `type` holds for files only. */
export interface FileFilter {
  readonly hasType: boolean;
  glob(relativePath: string): boolean;
  type(name: string): boolean;
}

export function fileFilter(args: ToolArguments): FileFilter {
  const pattern = textArg(args, 'glob');
  const glob = pattern === null || pattern === '' ? null : compileGlob(pattern);
  const type = (textArg(args, 'type') ?? '').trim().toLowerCase();
  const extensions =
    type === '' ? null : Object.hasOwn(TYPE_EXTENSIONS, type) ? (TYPE_EXTENSIONS[type] ?? []) : [type];
  return {
    hasType: extensions !== null,
    glob: (path) => glob === null || glob(path),
    type: (name) => extensions === null || extensions.some((each) => name.toLowerCase().endsWith(`.${each}`)),
  };
}

/** How a result names a path: from the workspace when it lies there, else from where the search began. */
export function displayPath(view: WorkspaceView, path: string, searchRoot: string): string {
  const from = isWithin(path, view.root) ? view.root : searchRoot;
  return relative(from, path).replaceAll('\\', '/') || '.';
}

export type SearchTarget =
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'entries';
      /** Folder that relative paths count from. */
      readonly root: string;
      /** True when the call named one file. */
      readonly isFile: boolean;
      readonly entries: AsyncIterable<WalkEntry>;
    };

async function* chained(first: WalkEntry | null, rest: AsyncGenerator<WalkEntry, void, undefined>) {
  if (first !== null) yield first;
  yield* rest;
}

async function* single(path: string): AsyncGenerator<WalkEntry> {
  yield { name: basename(path), path, relative: basename(path), kind: 'file' };
}

/** What lies at a physical path: the folder's entries, or the one file. */
export async function searchTarget(
  view: WorkspaceView,
  physical: string,
  asGiven: string,
  signal: AbortSignal,
): Promise<SearchTarget> {
  const entries = walk(view, physical, { signal });
  try {
    const first = await entries.next();
    const head = first.done ? null : first.value;
    return { kind: 'entries', root: physical, isFile: false, entries: chained(head, entries) };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'missing' };
    if (errorCode(error) !== 'ENOTDIR') throw asRefusal(error, asGiven);
    return { kind: 'entries', root: dirname(physical), isFile: true, entries: single(physical) };
  }
}
