/**
 * What `edit_file` makes of a file's content. Pure.
 *
 * @module
 */

import { findMatches, nearMisses, reindented, type TextMatch } from './text-match.ts';

export interface TextEdit {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
  readonly occurrence: number | null;
  readonly lineHint: number | null;
  readonly expectedReplacements: number | null;
  /** Blanks at the end of a line mean something in Markdown, and nothing elsewhere. */
  readonly keepTrailingBlanks: boolean;
}

export type EditOutcome =
  | { readonly kind: 'edited'; readonly content: string }
  /** Nothing was done, and the model should say more; not an error in nanobot. */
  | { readonly kind: 'ambiguous'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

const failed = (message: string): EditOutcome => ({ kind: 'failed', message: `Error: ${message}` });

function lineList(matches: readonly TextMatch[]): string {
  const first = matches.slice(0, 3).map(({ line }) => `line ${line}`);
  return [...first, ...(matches.length > 3 ? ['...'] : [])].join(', ');
}

function notFound(content: string, wanted: string, path: string): EditOutcome {
  const reasons = nearMisses(content, wanted);
  return reasons.length === 0
    ? failed(`old_text not found in ${path}. No similar text found. Verify the file content.`)
    : failed(
        `old_text not found in ${path}. Possible cause: ${reasons.join(', ')}. Copy the exact text from read_file ` +
          'and try again.',
      );
}

type Selection =
  | { readonly kind: 'selected'; readonly matches: readonly TextMatch[] }
  | { readonly kind: 'none'; readonly outcome: EditOutcome };

const none = (outcome: EditOutcome): Selection => ({ kind: 'none', outcome });

function select(matches: readonly TextMatch[], edit: TextEdit): Selection {
  const { replaceAll, occurrence, lineHint } = edit;
  const count = matches.length;
  if (replaceAll && occurrence !== null)
    return none(failed('occurrence cannot be used with replace_all=true.'));
  if (replaceAll && lineHint !== null) return none(failed('line_hint cannot be used with replace_all=true.'));
  if (occurrence !== null && lineHint !== null)
    return none(failed('line_hint cannot be used with occurrence.'));
  if (replaceAll) return { kind: 'selected', matches };
  if (occurrence !== null) {
    const match = matches[occurrence - 1];
    if (match !== undefined) return { kind: 'selected', matches: [match] };
    return none(failed(`occurrence ${occurrence} is out of range; old_text appears ${count} time(s).`));
  }
  if (lineHint !== null) {
    const covering = matches.filter(({ line, lastLine }) => line <= lineHint && lineHint <= lastLine);
    if (covering.length === 1) return { kind: 'selected', matches: covering };
    return none(
      covering.length === 0
        ? failed(`line_hint ${lineHint} does not match; old_text appears at ${lineList(matches)}.`)
        : failed(
            `line_hint ${lineHint} is ambiguous; old_text appears ${covering.length} times on that line.`,
          ),
    );
  }
  if (count === 1) return { kind: 'selected', matches };
  return none({
    kind: 'ambiguous',
    message:
      `Warning: old_text appears ${count} times at ${lineList(matches)}. Provide more context, set occurrence to ` +
      'choose one match, or set replace_all=true.',
  });
}

function replaced(
  content: string,
  matches: readonly TextMatch[],
  wanted: string,
  replacement: string,
): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of matches) {
    const actual = content.slice(start, end);
    const text = actual === wanted ? replacement : reindented(wanted, actual, replacement);
    parts.push(content.slice(at, start), text);
    // A deleted line takes its line break along.
    const takesBreak = text === '' && !actual.endsWith('\n') && content[end] === '\n';
    at = takesBreak ? end + 1 : end;
  }
  return parts.join('') + content.slice(at);
}

/** Applies an edit to a file's content; CRLF files stay CRLF. */
export function applyEdit(raw: string, edit: TextEdit): EditOutcome {
  const usesCrlf = raw.includes('\r\n');
  const content = raw.replaceAll('\r\n', '\n');
  const wanted = edit.oldText.replaceAll('\r\n', '\n');
  const given = edit.newText.replaceAll('\r\n', '\n');
  const replacement = edit.keepTrailingBlanks ? given : given.replace(/[^\S\n]+$/gm, '');
  const matches = findMatches(content, wanted);
  if (matches.length === 0) return notFound(content, wanted, edit.path);
  const selection = select(matches, edit);
  if (selection.kind === 'none') return selection.outcome;
  const count = selection.matches.length;
  if (edit.expectedReplacements !== null && edit.expectedReplacements !== count) {
    return failed(`expected ${edit.expectedReplacements} replacements but would make ${count}.`);
  }
  const result = replaced(content, selection.matches, wanted, replacement);
  return { kind: 'edited', content: usesCrlf ? result.replaceAll('\n', '\r\n') : result };
}
