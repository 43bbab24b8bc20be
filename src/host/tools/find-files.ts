/**
 * `find_files`: paths by fragment, glob or type.
 *
 * @module
 */

import { lstat } from 'node:fs/promises';
import { leadsToFolder, type WorkspacePolicy } from '../guards/index.ts';
import { type Tool, toolError, toolText } from '../registry-tool.ts';
import { flagArg, integerArg, strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';
import { displayPath, fileFilter, searchTarget } from './file-filter.ts';
import { page } from './pages.ts';

/** Paths returned when the call doesn't say. */
export const DEFAULT_FOUND_FILES = 200;

interface Found {
  readonly path: string;
  readonly modifiedMs: number;
}

const byPath = (a: Found, b: Found) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
const byModified = (a: Found, b: Found) => b.modifiedMs - a.modifiedMs || byPath(a, b);

/** Every blank-separated part of the query occurs in the path, whatever its case. */
function matchesQuery(path: string, query: string): boolean {
  const haystack = path.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((part) => haystack.includes(part));
}

export function findFilesTool(policy: WorkspacePolicy): Tool {
  return {
    name: 'find_files',
    description:
      'Find files by a part of their path, a glob or a type. Returns paths relative to the workspace. Folders of ' +
      'tools and caches are left out.',
    parameters: strictParameters({
      path: { type: 'string', description: "Folder or file to search in (default '.')" },
      query: { type: 'string', description: 'Words that must all occur in the path, in any case' },
      glob: { type: 'string', description: "File pattern, e.g. '*.md' or 'notes/**/*.txt'" },
      type: { type: 'string', description: "File type, e.g. 'py', 'ts', 'md', 'json'" },
      include_dirs: { type: 'boolean', description: 'Return folders as well as files (default false)' },
      sort: { type: 'string', enum: ['path', 'modified'], description: 'By path (default), or newest first' },
      head_limit: {
        type: 'integer',
        minimum: 0,
        maximum: 1000,
        description: `Most paths to return (default ${DEFAULT_FOUND_FILES}, 0 for all)`,
      },
      offset: { type: 'integer', minimum: 0, maximum: 100_000, description: 'Paths to skip' },
    }),
    readOnly: true,
    execute: (args, { signal }) =>
      reportingFailure('Error finding files', signal, async () => {
        const path = textArg(args, 'path') || '.';
        const view = await policy.view('read');
        const target = await searchTarget(view, await view.resolve(path), path, signal);
        if (target.kind === 'missing') return toolError(`Error: Path not found: ${path}`);
        const filter = fileFilter(args);
        const query = textArg(args, 'query')?.trim() ?? '';
        const newestFirst = textArg(args, 'sort') === 'modified';
        const found: Found[] = [];
        for await (const entry of target.entries) {
          const isFolder = await leadsToFolder(view, entry);
          if (isFolder && (filter.hasType || !flagArg(args, 'include_dirs'))) continue;
          if (!filter.glob(entry.relative) || !(isFolder || filter.type(entry.name))) continue;
          const shown = displayPath(view, entry.path, target.root);
          if (!matchesQuery(shown, query)) continue;
          const stats = newestFirst ? await lstat(entry.path).catch(() => null) : null;
          found.push({ path: isFolder ? `${shown}/` : shown, modifiedMs: stats?.mtimeMs ?? 0 });
        }
        found.sort(newestFirst ? byModified : byPath);
        const limit = integerArg(args, 'head_limit') ?? DEFAULT_FOUND_FILES;
        const { items, note } = page(found, limit === 0 ? null : limit, integerArg(args, 'offset') ?? 0);
        if (items.length === 0) return toolText('No files found');
        const list = items.map((each) => each.path).join('\n');
        return toolText(note === null ? list : `${list}\n\n${note}`);
      }),
  };
}
