/**
 * How a file's name is said: `notes.txt` is "notes dot text", "notes text" or, when no other file shares the
 * stem, just "notes". Names with a word that the recogniser doesn't know can't be asked for by voice.
 *
 * @module
 */

import type { PronouncingDictionary } from '../../speech/index.ts';
import type { SlotEntry } from './pattern.ts';
import type { CommandPrompts } from './prompts.ts';

/** Values of one slot that are made sayable; the rest is left out. */
export const MAX_SLOT_VALUES = 200;

type NameWords = CommandPrompts['names'];

/** `myNotes2.txt` → stem `my`, `notes`, `2`; extension `txt`. */
function split(value: string): { stem: string[]; extension: string | null } {
  const name = value.split(/[\\/]/).findLast((part) => part !== '') ?? '';
  if (name.startsWith('.')) return { stem: [], extension: null }; // hidden files stay hidden
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot + 1)] : [name, null];
  const parts = stem
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\d)/g, ' $1 ')
    .toLowerCase()
    .normalize('NFC')
    .split(/[^\p{L}\p{M}\p{N}']+/u)
    .filter((part) => part !== '');
  return { stem: parts, extension: extension?.toLowerCase() || null };
}

function sayPart(part: string, names: NameWords, dictionary: PronouncingDictionary): string[] | null {
  if (/^\d$/.test(part)) return names.digits[Number(part)]?.split(' ') ?? null;
  if (dictionary.has(part)) return [part];
  // Short unknown ones are abbreviations, and those are spelled.
  const letters = [...part];
  return letters.length <= 4 && letters.every((letter) => dictionary.has(letter)) ? letters : null;
}

function sayAll(
  parts: readonly string[],
  names: NameWords,
  dictionary: PronouncingDictionary,
): string[] | null {
  const said: string[] = [];
  for (const part of parts) {
    const words = sayPart(part, names, dictionary);
    if (!words) return null;
    said.push(...words);
  }
  return said.length > 0 ? said : null;
}

/**
 * Every unambiguous way to say each of the values.
 *
 * @returns the entries, and how many values can't be said
 */
export function spokenEntries(
  values: readonly string[],
  names: NameWords,
  dictionary: PronouncingDictionary,
): { entries: SlotEntry[]; leftOut: number } {
  const ways = new Map<string, Set<string>>();
  const add = (words: readonly string[], value: string) => {
    const spoken = words.join(' ');
    ways.set(spoken, (ways.get(spoken) ?? new Set()).add(value));
  };
  let leftOut = Math.max(0, values.length - MAX_SLOT_VALUES);
  for (const value of values.slice(0, MAX_SLOT_VALUES)) {
    const { stem, extension } = split(value);
    const words = sayAll(stem, names, dictionary);
    if (!words) {
      leftOut++;
      continue;
    }
    add(words, value);
    if (extension === null) continue;
    const known = names.extensions[extension]?.split(' ') ?? sayPart(extension, names, dictionary);
    if (!known?.every((word) => dictionary.has(word))) continue;
    add([...words, ...known], value);
    add([...words, names.dot, ...known], value);
  }
  const entries: SlotEntry[] = [];
  for (const [spoken, meant] of ways) {
    const [value] = meant;
    // What two files share names neither of them.
    if (meant.size === 1 && value !== undefined) entries.push({ words: spoken.split(' '), value });
  }
  return { entries, leftOut };
}

/** A file's name as it is read out: `notes.txt` → "notes dot text". */
export function sayName(name: string, names: NameWords): string {
  const { stem, extension } = split(name);
  const spoken = stem
    .map((part) => (/^\d$/.test(part) ? (names.digits[Number(part)] ?? part) : part))
    .join(' ');
  if (extension === null) return spoken || name;
  return `${spoken} ${names.dot} ${names.extensions[extension] ?? spell(extension)}`;
}

function spell(extension: string): string {
  return extension.length <= 3 ? [...extension].join(' ') : extension;
}
