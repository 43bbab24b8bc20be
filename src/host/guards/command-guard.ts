/**
 * What a shell command may say before it is run: nanobot's filters (`agent/tools/shell.py`). A filter on text is
 * no sandbox, which is why `exec` is off by default; it stops the plain and the careless.
 *
 * @module
 */

import { isAbsolute } from 'node:path';
import { EXEC_BOUNDARY_NOTE } from './boundary.ts';
import { resolvePhysical } from './physical-path.ts';
import type { SsrfPolicy } from './ssrf-policy.ts';
import type { WorkspaceView } from './workspace-policy.ts';

/** Longest command that is looked at. */
export const MAX_COMMAND_CHARS = 20_000;

/** Commands that are refused unless an allow pattern covers the whole command. */
export const DENY_PATTERNS: readonly RegExp[] = [
  /\brm\s+(?:-\S+\s+)*-[a-z]*[rf]/, // rm -r, -f, -rf and spread over several options
  /\brm\s+(?:-\S+\s+)*--(?:recursive|force)\b/,
  /\bdel\s+\/[fq]\b/,
  /\brmdir\s+\/s\b/,
  /(?:^|[;&|]\s*)format(?!=)\b/,
  /\b(?:mkfs|diskpart)\b/,
  /\bdd\s+(?:\S+\s+)*(?:if|of)=/,
  />\s*\/dev\/(?:sd|nvme|vd|hd|mmcblk)/,
  /\b(?:shutdown|reboot|poweroff|halt)\b/,
  /:\(\)\s*\{.*\};\s*:/, // fork bomb
];

export interface CommandGuardOptions {
  readonly denyPatterns?: readonly RegExp[];
  /** When set, every part of a command must be matched whole by one of these; they overrule the deny patterns. */
  readonly allowPatterns?: readonly RegExp[];
}

const BENIGN_DEVICES = /^\/dev\/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|fd\/\d+)$/;
const URLS = /https?:\/\/[^\s"'`;|<>]+/gi;

/** Most words and URLs of a command that are looked at one by one; a command with more is refused. */
export const MAX_COMMAND_WORDS = 500;

const guardError = (what: string, isBoundary = false) =>
  `Error: Command blocked by safety guard (${what})${isBoundary ? EXEC_BOUNDARY_NOTE : ''}`;

/** The parts of a command between `;`, `&`, `&&`, `|`, `||` and line breaks outside quotes and parentheses. */
export function commandSegments(command: string): string[] {
  const segments: string[] = [];
  let current = '';
  let quote = '';
  let depth = 0;
  for (let at = 0; at < command.length; at += 1) {
    const char = command.charAt(at);
    if (char === '\\' && quote !== "'") {
      current += command.slice(at, at + 2);
      at += 1;
    } else if (quote !== '') {
      if (char === quote) quote = '';
      current += char;
    } else if (char === "'" || char === '"' || char === '`') {
      quote = char;
      current += char;
    } else if (depth === 0 && /[;&|\n]/.test(char)) {
      segments.push(current);
      current = '';
    } else {
      if (char === '(') depth += 1;
      if (char === ')') depth = Math.max(0, depth - 1);
      current += char;
    }
  }
  segments.push(current);
  return segments.map((segment) => segment.trim()).filter((segment) => segment !== '');
}

function matchesWhole(pattern: RegExp, text: string): boolean {
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace('g', '')).test(text);
}

/** Refuses by deny and allow patterns; `null` when neither objects. */
function patternRefusal(command: string, options: CommandGuardOptions): string | null {
  const lower = command.toLowerCase();
  const allowed = options.allowPatterns ?? [];
  const segments = commandSegments(lower);
  const isAllowed =
    segments.length > 0 &&
    segments.every((segment) => allowed.some((pattern) => matchesWhole(pattern, segment)));
  if (isAllowed) return null;
  const denied = [...DENY_PATTERNS, ...(options.denyPatterns ?? [])];
  if (denied.some((pattern) => pattern.test(lower))) return 'Error: Command blocked by deny pattern filter';
  return allowed.length > 0 ? 'Error: Command blocked by allowlist filter (not in allowlist)' : null;
}

/** Words of a command as a shell would split them, roughly: quotes dropped, redirections and `a=b` cut apart. */
function words(command: string): string[] {
  return command
    .replace(/["'\\]/g, '')
    .split(/[\s;&|<>()`=,]+/)
    .filter((word) => word !== '');
}

/** What a word may name: the path it is, or the one glued to an option (`-I/usr/include`). */
function pathOf(word: string, cwd: string, view: WorkspaceView): string {
  if (word.startsWith('~')) return view.absolute(word);
  const glued = /^-[^/]*(\/.*)$/.exec(word)?.[1] ?? word;
  return isAbsolute(glued) ? glued : `${cwd}/${glued}`;
}

async function wordRefusal(word: string, cwd: string, view: WorkspaceView): Promise<string | null> {
  if (BENIGN_DEVICES.test(word)) return null;
  try {
    const path = await resolvePhysical(pathOf(word, cwd, view));
    if (BENIGN_DEVICES.test(path) || view.allows(path)) return null;
  } catch {
    // Not a path that could be followed, so not one that may be.
  }
  return guardError('path outside working dir', true);
}

/**
 * Judges a command.
 *
 * @param cwd - physical working directory
 * @returns the error text of a refusal, or `null`
 */
export async function commandRefusal(
  command: string,
  cwd: string,
  view: WorkspaceView,
  ssrf: SsrfPolicy,
  options: CommandGuardOptions & { readonly allowLoopback: boolean },
): Promise<string | null> {
  if (command.length > MAX_COMMAND_CHARS || command.includes('\0')) return guardError('command not readable');
  const byPattern = patternRefusal(command, options);
  if (byPattern !== null) return byPattern;
  const urls = command.match(URLS) ?? [];
  const list = words(command.replace(URLS, ' '));
  if (urls.length + list.length > MAX_COMMAND_WORDS) return guardError('command not readable');
  for (const url of urls) {
    const verdict = await ssrf.check(url, { allowLoopback: options.allowLoopback });
    if (!verdict.ok) return guardError('internal/private URL detected');
  }
  if (view.restricted && /(?:^|[\s/\\"'=;&|(])\.\.(?:$|[\s/\\"';&|)])/.test(command)) {
    return guardError('path traversal detected', true);
  }
  for (const word of list) {
    const refusal = await wordRefusal(word, cwd, view);
    if (refusal !== null) return refusal;
  }
  return null;
}
