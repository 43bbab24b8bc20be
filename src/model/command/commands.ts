/**
 * The commands of one session right now: its phrases whose tools are there, with the slots' present values.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { SpeechGrammar } from '../../speech/index.ts';
import { matchPattern, patternParts, type SlotEntry, type SlotTable, slotRule, toJsgf } from './pattern.ts';
import type { Phrase, PhraseBook, PhraseMeaning } from './phrase-file.ts';

/** What a caller said, as a command. */
export interface Command {
  readonly meaning: PhraseMeaning;
  readonly slots: Readonly<Record<string, string>>;
}

export class Commands {
  readonly #phrases: readonly Phrase[];
  readonly #slots: SlotTable;
  readonly grammar: SpeechGrammar;

  /**
   * @param tools - names of the session's tools; phrases of other tools are off
   * @param openSlots - present values of the slots that have no fixed ones
   */
  constructor(book: PhraseBook, tools: ReadonlySet<string>, openSlots: SlotTable) {
    this.#slots = new Map([...openSlots, ...book.fixedSlots]);
    const sayable = (name: string) => (this.#slots.get(name)?.length ?? 0) > 0;
    this.#phrases = book.phrases
      .filter(({ meaning }) => meaning.kind !== 'tool' || tools.has(meaning.tool))
      .map((phrase) => ({
        ...phrase,
        patterns: phrase.patterns.filter((pattern) => patternParts(pattern).slots.every(sayable)),
      }))
      .filter((phrase) => phrase.patterns.length > 0);
    const used = new Set(
      this.#phrases.flatMap((each) => each.patterns.flatMap((p) => patternParts(p).slots)),
    );
    const rules = Object.fromEntries(
      [...used].map((name) => [slotRule(name), alternatives(this.#slots.get(name) ?? [])]),
    );
    const expression = this.#phrases.flatMap((each) => each.patterns.map(toJsgf)).join(' | ');
    const id = createHash('sha256')
      .update(JSON.stringify([expression, rules]))
      .digest('base64url');
    this.grammar = { id, expression, rules };
  }

  /** How to ask for what is on, in the order of the phrases. */
  get examples(): string[] {
    return this.#phrases.flatMap(({ example }) =>
      example === null
        ? []
        : [example.replace(/\{(\w+)\}/g, (whole, slot: string) => this.#sample(slot) ?? whole)],
    );
  }

  /** The longest way to say a slot's first value: a name in full is recognised best. */
  #sample(slot: string): string | null {
    const entries = this.#slots.get(slot) ?? [];
    const ways = entries
      .filter(({ value }) => value === entries[0]?.value)
      .map(({ words }) => words.join(' '));
    return ways.toSorted((a, b) => b.length - a.length)[0] ?? null;
  }

  /** The command that these words are, or `null`. */
  match(text: string): Command | null {
    const words = text
      .toLowerCase()
      .normalize('NFC')
      .split(/[^\p{L}\p{M}\p{N}'_.-]+/u)
      // A typed sentence ends with a full stop that nobody says.
      .map((word) => word.replace(/[.]+$/, ''))
      .filter((word) => word !== '');
    if (words.length === 0) return null;
    for (const { patterns, meaning } of this.#phrases) {
      for (const pattern of patterns) {
        const slots = matchPattern(pattern, words, this.#slots);
        if (slots) return { meaning, slots };
      }
    }
    return null;
  }
}

function alternatives(entries: readonly SlotEntry[]): string {
  return entries.map(({ words }) => words.join(' ')).join(' | ');
}
