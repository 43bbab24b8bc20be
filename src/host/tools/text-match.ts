/**
 * Finding the text an edit means: exactly, else line by line without the blanks around it, else with straight
 * quotes for curly ones. Pure.
 *
 * @module
 */

import { splitLines } from './text-lines.ts';

export interface TextMatch {
  readonly start: number;
  readonly end: number;
  /** First line, counted from 1. */
  readonly line: number;
  /** Last line. */
  readonly lastLine: number;
}

/** Line comparisons that the looser searches may cost. */
export const MAX_LINE_COMPARISONS = 20_000_000;

/** Most matches collected; an edit that hits more is a mistake. */
export const MAX_MATCHES = 100_000;

const QUOTES: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201c': '"',
  '\u201d': '"',
};

/** Curly quotes made straight; every position stays the same. */
export function straightQuotes(text: string): string {
  return text.replace(/[\u2018\u2019\u201c\u201d]/g, (quote) => QUOTES[quote] ?? quote);
}

/** Number of line breaks before each position asked for, positions ascending. */
function lineCounter(text: string): (position: number) => number {
  let at = 0;
  let line = 1;
  return (position) => {
    for (let next = text.indexOf('\n', at); next !== -1 && next < position; next = text.indexOf('\n', at)) {
      line += 1;
      at = next + 1;
    }
    return line;
  };
}

function exactMatches(content: string, wanted: string): TextMatch[] {
  const matches: TextMatch[] = [];
  const lineAt = lineCounter(content);
  const height = (wanted.endsWith('\n') ? wanted.slice(0, -1) : wanted).split('\n').length - 1;
  for (
    let start = content.indexOf(wanted);
    start !== -1 && matches.length < MAX_MATCHES;
    start = content.indexOf(wanted, start + wanted.length)
  ) {
    const line = lineAt(start);
    matches.push({ start, end: start + wanted.length, line, lastLine: line + height });
  }
  return matches;
}

function lineMatches(content: string, wanted: string, normalise: (line: string) => string): TextMatch[] {
  const wantedLines = splitLines(wanted).map(normalise);
  const lines = content.split('\n');
  if (wantedLines.length === 0 || lines.length * wantedLines.length > MAX_LINE_COMPARISONS) return [];
  const normalised = lines.map(normalise);
  const starts: number[] = [];
  let position = 0;
  for (const line of lines) {
    starts.push(position);
    position += line.length + 1;
  }
  const matches: TextMatch[] = [];
  for (
    let first = 0;
    first + wantedLines.length <= lines.length && matches.length < MAX_MATCHES;
    first += 1
  ) {
    if (!wantedLines.every((line, offset) => normalised[first + offset] === line)) continue;
    const last = first + wantedLines.length - 1;
    const end = (starts[last] ?? 0) + (lines[last]?.length ?? 0);
    matches.push({ start: starts[first] ?? 0, end, line: first + 1, lastLine: last + 1 });
  }
  return matches;
}

/** Every place `wanted` may mean, by the strictest search that finds any. Both with LF line ends. */
export function findMatches(content: string, wanted: string): TextMatch[] {
  const exact = exactMatches(content, wanted);
  if (exact.length > 0) return exact;
  const trimmed = lineMatches(content, wanted, (line) => line.trim());
  if (trimmed.length > 0) return trimmed;
  const unquoted = lineMatches(content, wanted, (line) => straightQuotes(line.trim()));
  if (unquoted.length > 0) return unquoted;
  return exactMatches(straightQuotes(content), straightQuotes(wanted));
}

const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? '';

/** Gives the replacement the indentation of what it replaces, when the search had looked past it. */
export function reindented(wanted: string, actual: string, replacement: string): string {
  const wantedLines = wanted.split('\n');
  const actualLines = actual.split('\n');
  const first = wantedLines.findIndex(
    (line, index) => line.trim() !== '' && actualLines[index]?.trim() !== '',
  );
  if (wantedLines.length !== actualLines.length || first === -1) return replacement;
  const from = indentOf(wantedLines[first] ?? '');
  const to = indentOf(actualLines[first] ?? '');
  if (from === to || !to.startsWith(from)) return replacement;
  const added = to.slice(from.length);
  return replacement
    .split('\n')
    .map((line) => (line === '' ? line : added + line))
    .join('\n');
}

const collapsed = (text: string) => text.replace(/[ \t]+/g, ' ').trim();

/** Why a text was not found although something like it is there; an empty list when nothing is. */
export function nearMisses(content: string, wanted: string): string[] {
  if (wanted.trim() === '') return [];
  const reasons: string[] = [];
  if (content.toLowerCase().includes(wanted.toLowerCase())) reasons.push('letter case differs');
  if (collapsed(content).includes(collapsed(wanted))) reasons.push('whitespace differs');
  return reasons;
}
