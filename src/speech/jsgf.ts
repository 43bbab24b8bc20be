/**
 * Grammars as the recogniser takes them: the commands, always in competition with a loop of single phones.
 * A grammar alone force-fits whatever it hears to one of its phrases, approvals included; against the loop,
 * speech that is none of them ends as phones and is rejected.
 *
 * @module
 */

import { VoiceError } from '../errors.ts';
import type { SpeechGrammar } from './contract.ts';

/** Longest grammar text. */
export const MAX_GRAMMAR_CHARS = 64_000;

/** In front of a phone's name, to tell its word from those of the dictionary (`p` and `y` are in there too). */
const PHONE_PREFIX = 'ph_';

const RULE_NAME = /^[a-z][a-z0-9_]*$/;
/** Words, rule references, grouping, alternatives, repetition, weights; nothing that could end a rule. */
const EXPRESSION = /^[\p{L}\p{M}\p{N}\s'_<>()[\]|*+./-]*$/u;
const WORD = /^[\p{L}\p{M}\p{N}'_.-]+$/u;

function invalid(what: string): never {
  throw new VoiceError('PHRASE_INVALID', what);
}

function checkExpression(name: string, expression: string, rules: object): void {
  if (!EXPRESSION.test(expression)) invalid(`The phrases of ${name} hold a character that can’t be spoken.`);
  for (const [reference, rule = ''] of expression.matchAll(/<([^<>]*)>/g)) {
    if (!Object.hasOwn(rules, rule)) invalid(`${name} refers to ${reference}, which is not defined.`);
  }
}

/** The plain words of an expression, each once. @throws VoiceError `PHRASE_INVALID` */
export function grammarWords(grammar: SpeechGrammar): ReadonlySet<string> {
  const words = new Set<string>();
  for (const expression of [grammar.expression, ...Object.values(grammar.rules ?? {})]) {
    const plain = expression.replace(/<[^<>]*>|\/[^/]*\//g, ' ').replace(/[()[\]|*+]/g, ' ');
    for (const word of plain.split(/\s+/)) {
      if (!word) continue;
      if (!WORD.test(word)) invalid(`“${word}” is not a word that can be spoken.`);
      words.add(word);
    }
  }
  return words;
}

/** The complete JSGF text. @throws VoiceError `PHRASE_INVALID` */
export function grammarText(grammar: SpeechGrammar, phones: readonly string[]): string {
  const named = grammar.rules ?? {};
  checkExpression('the grammar', grammar.expression, named);
  const rules = Object.entries(named).map(([name, expression]) => {
    if (!RULE_NAME.test(name))
      invalid(`“${name}” is no rule name: lower-case letters, digits and _ are taken.`);
    checkExpression(`<${name}>`, expression, named);
    return `<r_${name}> = ${reference(expression)};`;
  });
  const text = [
    '#JSGF V1.0;',
    'grammar commands;',
    'public <utterance> = <command> | <phone>+;',
    `<command> = ${reference(grammar.expression)};`,
    ...rules,
    `<phone> = ${phones.map(phoneWord).join(' | ')};`,
  ].join('\n');
  if (text.length > MAX_GRAMMAR_CHARS) invalid('The grammar is too long.');
  return text;
}

/** A grammar of nothing but phones. */
export function phoneLoopText(phones: readonly string[]): string {
  return `#JSGF V1.0;\ngrammar phones;\npublic <utterance> = <phone>+;\n<phone> = ${phones.map(phoneWord).join(' | ')};`;
}

/** Rules of the caller's get a prefix of their own, so that none can replace one of ours. */
function reference(expression: string): string {
  return expression.replace(/<([^<>]*)>/g, '<r_$1>');
}

/** The word that stands for one phone in the loop. */
export function phoneWord(phone: string): string {
  return `${PHONE_PREFIX}${phone}`;
}

/** The recognised words, or `null` when the loop of phones won. */
export function rejectPhones(text: string): string | null {
  const words = text.trim();
  return words === '' || words.split(/\s+/).some((word) => word.startsWith(PHONE_PREFIX)) ? null : words;
}
