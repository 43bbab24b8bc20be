/**
 * `read_file`: a text file as numbered lines, or an image.
 *
 * @module
 */

import { currentFileStates, type ToolResult } from '../../gateway/index.ts';
import { readGuarded, resolvePhysical, type WorkspacePolicy, type WorkspaceView } from '../guards/index.ts';
import { type Tool, type ToolArguments, toolError, toolText } from '../registry-tool.ts';
import { flagArg, integerArg, strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';
import { imageBlocks, imageType } from './image-type.ts';
import { decodeUtf8, lineWindow } from './text-lines.ts';

/** Largest file that is read. nanobot takes 100 MiB; we share a thread with people's voices. */
export const MAX_READ_BYTES = 4 * 1024 * 1024;

/** Most characters of one result. */
export const MAX_READ_CHARS = 128_000;

/** Lines shown when the call doesn't say. */
export const DEFAULT_READ_LINES = 2000;

const MIB = 1024 * 1024;

const blockedDevice = (path: string) =>
  toolError(`Error: Reading ${path} is blocked (device path that could hang or produce infinite output).`);

const DEVICE = /^\/dev(?:\/|$)|^\/proc\/(?:self|\d+)\/fd\/[012]$/;

async function isDevice(path: string): Promise<boolean> {
  return path.startsWith('/') && (DEVICE.test(path) || DEVICE.test(await resolvePhysical(path)));
}

/** Numbered lines from `offset`, and where to go on. */
export function numberedLines(text: string, offset: number, limit: number): ToolResult {
  const { lines, total } = lineWindow(text.replaceAll('\r\n', '\n'), offset, limit);
  if (offset > total) return toolError(`Error: offset ${offset} is beyond end of file (${total} lines)`);
  const shown: string[] = [];
  let length = 0;
  for (const [index, line] of lines.entries()) {
    const numbered = `${offset + index}| ${line}`;
    length += numbered.length + 1;
    if (length > MAX_READ_CHARS + 1) break;
    shown.push(numbered);
  }
  const end = offset - 1 + shown.length;
  const footer =
    end < total
      ? `(Showing lines ${offset}-${end} of ${total}. Use offset=${end + 1} to continue.)`
      : `(End of file — ${total} lines total)`;
  return toolText(`${shown.join('\n')}\n\n${footer}`);
}

async function read(view: WorkspaceView, args: ToolArguments): Promise<ToolResult> {
  const path = textArg(args, 'path');
  if (path === null || path === '') return toolError('Error reading file: Unknown path');
  if (await isDevice(path)) return blockedDevice(path);
  const physical = await view.resolve(path);
  const file = await readGuarded(view, physical, path, MAX_READ_BYTES);
  switch (file.kind) {
    case 'missing':
      return toolError(`Error: File not found: ${path}`);
    case 'not-a-file':
      return toolError(`Error: Not a file: ${path}`);
    case 'too-large': {
      const size = (file.size / MIB).toFixed(1);
      return toolError(
        `Error: File too large to read (${size} MiB). Maximum is ${MAX_READ_BYTES / MIB} MiB.`,
      );
    }
    case 'file':
      break;
  }
  if (file.bytes.length === 0) return toolText(`(Empty file: ${path})`);
  const mime = imageType(file.bytes);
  if (mime !== null)
    return { content: imageBlocks(file.bytes, mime, `(Image file: ${path})`), isError: false };

  const states = currentFileStates();
  const window = { offset: integerArg(args, 'offset') ?? 1, limit: integerArg(args, 'limit') };
  if (!flagArg(args, 'force') && states?.isUnchanged(physical, window, file.fingerprint)) {
    return toolText(`[File unchanged since last read: ${path}]`);
  }
  const text = decodeUtf8(file.bytes);
  if (text === null) {
    return toolError(
      `Error: Cannot read binary file ${path} (MIME: unknown). Only supported text files and images can be read.`,
    );
  }
  const result = numberedLines(text, window.offset, window.limit ?? DEFAULT_READ_LINES);
  if (!result.isError) states?.recordRead(physical, window, file.fingerprint);
  return result;
}

export function readFileTool(policy: WorkspacePolicy): Tool {
  return {
    name: 'read_file',
    description:
      'Read a text file or an image. Text comes as numbered lines (LINE| CONTENT); page through a long file with ' +
      'offset and limit. Reading an unchanged file again returns a short note; set force to see it anyway. Find ' +
      'the path with find_files or list_dir first when unsure.',
    parameters: strictParameters(
      {
        path: { type: 'string', description: 'The file to read, relative to the workspace' },
        offset: {
          type: 'integer',
          minimum: 1,
          description: 'First line to show, counted from 1 (default 1)',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          description: `Most lines to show (default ${DEFAULT_READ_LINES})`,
        },
        force: {
          type: 'boolean',
          description: 'Show the content even if it has not changed since the last read',
        },
      },
      ['path'],
    ),
    readOnly: true,
    execute: (args, { signal }) =>
      reportingFailure('Error reading file', signal, async () => read(await policy.view('read'), args)),
  };
}
