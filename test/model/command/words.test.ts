import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Commands } from '../../../src/model/command/commands.ts';
import { matchPattern, parsePattern, patternParts, toJsgf } from '../../../src/model/command/pattern.ts';
import { loadPhrases } from '../../../src/model/command/phrase-file.ts';
import { loadCommandPrompts } from '../../../src/model/command/prompts.ts';
import { MAX_SLOT_VALUES, sayName, spokenEntries } from '../../../src/model/command/spoken-name.ts';
import { loadDictionary } from '../../../src/speech/index.ts';

const dictionary = loadDictionary('en-us');
const prompts = loadCommandPrompts('en-us');

function phrasesFile(content: unknown): string {
  const path = join(mkdtempSync(join(tmpdir(), 'phrases-')), 'phrases.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('the phrases of a locale', () => {
  it.each(readdirSync(new URL('../../../assets/locales', import.meta.url)))(
    'are words that its dictionary has: %s',
    (locale) => {
      // With a file of one's own, all of them are looked up.
      const own = phrasesFile({ phrases: [] });

      const book = loadPhrases(loadDictionary(locale), own);

      expect(book).toEqual(loadPhrases(loadDictionary(locale)));
      expect(book.phrases.length).toBeGreaterThan(5);
    },
  );
});

describe('a phrase', () => {
  const pattern = parsePattern('[please] (read | open) the file {file}');
  const slots = new Map([
    [
      'file',
      [
        { words: ['notes'], value: 'notes.txt' },
        { words: ['notes', 'dot', 'text'], value: 'notes.txt' },
        { words: ['plan'], value: 'docs/plan.md' },
      ],
    ],
  ]);

  it('becomes a grammar', () => {
    expect(toJsgf(pattern)).toBe('[ please ] ( read | open ) the file <slot_file>');
    expect(patternParts(pattern)).toEqual({
      words: ['please', 'read', 'open', 'the', 'file'],
      slots: ['file'],
    });
  });

  it.each([
    ['please read the file notes', { file: 'notes.txt' }],
    ['open the file notes dot text', { file: 'notes.txt' }],
    ['read the file plan', { file: 'docs/plan.md' }],
    ['read the file', null],
    ['read the file notes dot', null],
    ['please please read the file notes', null],
    ['read file notes', null],
  ])('“%s” gives %o', (text, values) => {
    expect(matchPattern(pattern, text.split(' '), slots)).toEqual(values);
  });

  it.each(['read [the file', 'read the file]', 'read {}', 'a | | b', '()', '', 'what? now', 'read <file>'])(
    '“%s” is PHRASE_INVALID',
    (phrase) => {
      expect(() => parsePattern(phrase)).toThrow(expect.objectContaining({ code: 'PHRASE_INVALID' }));
    },
  );
});

describe('the phrase files', () => {
  it.each(['en-us', 'fr-fr'])('of %s load, with every word in the dictionary', (locale) => {
    const book = loadPhrases(loadDictionary(locale));
    const tools = book.phrases.flatMap(({ meaning }) => (meaning.kind === 'tool' ? [meaning.tool] : []));
    expect(new Set(tools)).toEqual(new Set(['current_time', 'list_dir', 'read_file', 'send_test_image']));
    expect(book.openSlots).toEqual(['file']);
    expect(() => loadCommandPrompts(locale)).not.toThrow();
  });

  it('put a person’s own phrases in front', () => {
    const file = phrasesFile({
      phrases: [
        { say: 'what time is it', reply: 'It is always tea time.' },
        { say: 'turn on the {lamp} light', tool: 'light', args: { lamp: '{lamp}', on: true } },
      ],
      slots: { lamp: ['kitchen', { say: 'living room', value: 'lr-1' }] },
    });
    const commands = new Commands(
      loadPhrases(dictionary, file),
      new Set(['light', 'current_time']),
      new Map(),
    );
    expect(commands.match('What time is it?')?.meaning).toEqual({
      kind: 'reply',
      text: 'It is always tea time.',
    });
    expect(commands.match('turn on the living room light')).toMatchObject({ slots: { lamp: 'lr-1' } });
  });

  it.each([
    [
      'a word nobody can recognise',
      { phrases: [{ say: 'start the xyzzyplugh', reply: 'no' }] },
      'xyzzyplugh',
    ],
    ['a slot value nobody can recognise', { phrases: [], slots: { a: ['qwrtz'] } }, 'qwrtz'],
    ['a wrong key', { phrases: [{ say: 'hello', replay: 'no' }] }, 'phrases.0'],
    ['no phrases', {}, 'phrases'],
    ['an unknown action', { phrases: [{ say: 'hello', action: 'dance' }] }, 'phrases.0'],
    ['broken JSON', '{', 'JSON'],
  ])('with %s are refused, and the message says where', (_, content, where) => {
    expect(() => loadPhrases(dictionary, phrasesFile(content))).toThrow(
      expect.objectContaining({ code: 'PHRASE_INVALID', message: expect.stringContaining(where) }),
    );
  });

  it('that do not exist are refused', () => {
    expect(() => loadPhrases(dictionary, '/nowhere/phrases.json')).toThrow(
      expect.objectContaining({ code: 'PHRASE_INVALID' }),
    );
    expect(() => loadCommandPrompts('de-de')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('the commands of a session', () => {
  const book = loadPhrases(dictionary);
  const files = new Map([['file', spokenEntries(['notes.txt'], prompts.names, dictionary).entries]]);

  it('are those whose tools are there and whose slots have values', () => {
    const all = new Commands(book, new Set(['current_time', 'read_file', 'list_dir']), files);
    const without = new Commands(book, new Set(['read_file']), new Map());
    expect(all.match('read the file notes')?.slots).toEqual({ file: 'notes.txt' });
    expect(without.match('read the file notes')).toBeNull();
    expect(without.match('read the password file')?.meaning).toMatchObject({ args: { path: '/etc/passwd' } });
    expect(all.match('what time is it')).not.toBeNull();
    expect(without.match('what time is it')).toBeNull();
    expect(without.grammar.expression).not.toContain('what time');
  });

  it('name a file that is there in their examples', () => {
    const { examples } = new Commands(book, new Set(['read_file', 'current_time']), files);
    expect(examples.slice(0, 2)).toEqual(['what time is it', 'read the file notes dot text']);
  });

  it('have the same grammar id for the same content only', () => {
    const id = (values: string[]) => {
      const { entries } = spokenEntries(values, prompts.names, dictionary);
      return new Commands(book, new Set(['read_file']), new Map([['file', entries]])).grammar.id;
    };
    expect(id(['notes.txt'])).toBe(id(['notes.txt']));
    expect(id(['notes.txt'])).not.toBe(id(['notes.txt', 'plan.md']));
  });
});

describe('the name of a file', () => {
  const spoken = (...values: string[]) => {
    const { entries } = spokenEntries(values, prompts.names, dictionary);
    return Object.fromEntries(entries.map(({ words, value }) => [words.join(' '), value]));
  };

  it('can be said with and without its extension', () => {
    expect(spoken('docs/shoppingList2.md')).toEqual({
      'shopping list two': 'docs/shoppingList2.md',
      'shopping list two m d': 'docs/shoppingList2.md',
      'shopping list two dot m d': 'docs/shoppingList2.md',
    });
  });

  it('must be said in full when another shares its stem', () => {
    expect(spoken('notes.txt', 'notes.md')).toEqual({
      'notes text': 'notes.txt',
      'notes dot text': 'notes.txt',
      'notes m d': 'notes.md',
      'notes dot m d': 'notes.md',
    });
  });

  it('that nobody can recognise or pronounce is left out', () => {
    const { entries, leftOut } = spokenEntries(
      ['xyzzyplugh.txt', '….txt', '.env', ''],
      prompts.names,
      dictionary,
    );
    expect(entries.map(({ value }) => value)).toEqual([]);
    expect(leftOut).toBe(4);
  });

  it('can’t smuggle anything into a grammar', () => {
    for (const entry of Object.keys(spoken('notes; public <x> = yes.txt', '<phone>.txt', 'a|b.txt'))) {
      expect(entry).toMatch(/^[a-z' ]+$/);
    }
  });

  it('is taken from the first few hundred only', () => {
    const names = Array.from({ length: MAX_SLOT_VALUES + 10 }, (_, i) => `notes ${i}.txt`);
    const { entries, leftOut } = spokenEntries(names, prompts.names, dictionary);
    expect(leftOut).toBe(10);
    expect(new Set(entries.map(({ value }) => value)).size).toBe(MAX_SLOT_VALUES);
  });

  it('is read out as words', () => {
    expect(sayName('shopping_list2.txt', prompts.names)).toBe('shopping list two dot text');
    expect(sayName('Makefile', prompts.names)).toBe('makefile');
    expect(sayName('a.zip', prompts.names)).toBe('a dot z i p');
  });
});
