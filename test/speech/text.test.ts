import { describe, expect, it } from 'vitest';
import { isVoiceError } from '../../src/errors.ts';
import { frenchNumber, respellFrench } from '../../src/speech/french.ts';
import { loadDictionary, MAX_SENTENCE_CHARS, splitSentences } from '../../src/speech/index.ts';
import { grammarText, grammarWords, rejectPhones } from '../../src/speech/jsgf.ts';

describe('text to be spoken', () => {
  it('is cut after each sentence', () => {
    expect(splitSentences('Hello there. How are you?  Fine!\nBye')).toEqual([
      'Hello there.',
      'How are you?',
      'Fine!',
      'Bye',
    ]);
  });

  it('loses what can’t be spoken', () => {
    expect(splitSentences('a\u0000b\u0007 — … . ?!')).toEqual(['a b — …']);
    expect(splitSentences('...')).toEqual([]);
  });

  it('is never longer than one breath, and loses no word', () => {
    const words = Array.from({ length: 300 }, (_, i) => `word${i}`);
    const pieces = splitSentences(words.join(' '));
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(MAX_SENTENCE_CHARS);
    expect(pieces.join(' ').split(' ')).toEqual(words);
    expect(splitSentences('x'.repeat(1000)).join('')).toBe('x'.repeat(1000));
  });
});

describe('a grammar', () => {
  const phones = ['AA', 'B'];

  it('always competes with a loop of phones', () => {
    const text = grammarText({ id: '1', expression: 'yes | read <file>', rules: { file: 'notes' } }, phones);
    expect(text).toContain('public <utterance> = <command> | <phone>+;');
    expect(text).toContain('<phone> = ph_AA | ph_B;');
    expect(text).toContain('<command> = yes | read <r_file>;\n<r_file> = notes;');
  });

  it.each([
    ['ends its rule', { expression: 'yes; public <utterance> = no' }],
    ['defines a rule inside', { expression: 'yes = no' }],
    ['refers to nothing', { expression: 'yes <nowhere>' }],
    ['names a rule like one of ours', { expression: 'yes', rules: { 'command> = x; <y': 'no' } }],
    ['is far too long', { expression: 'yes | '.repeat(20_000) }],
  ])('that %s is PHRASE_INVALID', (_, grammar) => {
    const attempt = () => grammarText({ id: '1', ...grammar }, phones);
    expect(attempt).toThrow();
    try {
      attempt();
    } catch (error) {
      expect(isVoiceError(error, 'PHRASE_INVALID')).toBe(true);
    }
  });

  it('knows its words', () => {
    const words = grammarWords({
      id: '1',
      expression: '[please] (go | /0.5/ stop)+ <x>',
      rules: { x: "what's" },
    });
    expect([...words]).toEqual(['please', 'go', 'stop', "what's"]);
  });

  it('is rejected when any phone of the loop was heard', () => {
    expect(rejectPhones('what time is it')).toBe('what time is it');
    expect(rejectPhones('ph_AA ph_B')).toBeNull();
    expect(rejectPhones('')).toBeNull();
  });
});

describe('the pronouncing dictionary', () => {
  it.each([
    ['en-us', 'notes', 'N OW T S'],
    ['fr-fr', 'plaît', 'pp ll ai'],
  ])('of %s knows “%s”', (locale, word, phones) => {
    const dictionary = loadDictionary(locale);
    expect(dictionary.pronunciation(word)).toBe(phones);
    expect(dictionary.has('xyzzyplugh')).toBe(false);
    expect(dictionary.has(`${word}(2)`)).toBe(false);
  });

  it('of a locale that does not ship is an error with a code', () => {
    expect(() => loadDictionary('de-de')).toThrow(expect.objectContaining({ code: 'SPEECH_FAILED' }));
  });
});

describe('French for an English voice', () => {
  it.each([
    ['0', 'zéro'],
    ['21', 'vingt et un'],
    ['71', 'soixante et onze'],
    ['80', 'quatre vingt'],
    ['99', 'quatre vingt dix neuf'],
    ['380', 'trois cent quatre vingt'],
    ['2026', 'deux mille vingt six'],
    ['007', 'zéro zéro sept'],
  ])('counts %s as %s', (digits, words) => {
    expect(frenchNumber(digits)).toBe(words);
  });

  it('spells every word in sounds of the voice, with the stress on the last vowel', () => {
    const { text, lexicon } = respellFrench("Bonjour, s'il vous plaît.", loadDictionary('fr-fr'));
    expect(text).toBe('qaaq, qabq qacq qadq.');
    expect(lexicon).toEqual({ qaaq: 'b ow0 n zh uw1 r', qabq: 's iy1 l', qacq: 'v uw1', qadq: 'p l eh1' });
  });

  it('leaves a word that the dictionary lacks to the voice', () => {
    expect(respellFrench('xyzzyplugh', loadDictionary('fr-fr'))).toEqual({ text: 'xyzzyplugh', lexicon: {} });
  });
});
