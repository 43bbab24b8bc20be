import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeG711, PCMU_8K, resample } from '../../../src/audio/index.ts';
import { Commands } from '../../../src/model/command/commands.ts';
import { Ear } from '../../../src/model/command/ear.ts';
import { loadPhrases } from '../../../src/model/command/phrase-file.ts';
import { loadCommandPrompts } from '../../../src/model/command/prompts.ts';
import { spokenEntries } from '../../../src/model/command/spoken-name.ts';
import { createRecogniser, loadDictionary } from '../../../src/speech/index.ts';
import { clip } from '../../speech/clips.ts';

/** What callers of other services say; none of it is a command of ours. */
const DECOYS = [
  'turn on the light',
  'call my mother',
  'play some music',
  'what is the weather today',
  'send a message to anna',
  'delete the file',
  'write a new file',
  'open the door',
  'where is the station',
  'set a timer for ten minutes',
  'how much does it cost',
  'i would like a coffee',
  'tell me a story',
  'what is your name',
  'book a table for two',
  'cancel my order',
  'show me the map',
  'when does the train leave',
  'speak more slowly',
  'transfer me to an agent',
  'remind me tomorrow morning',
  'who won the game',
  'stop the music',
  'read me my messages',
];

const recogniser = createRecogniser({ locale: 'en-us' });
afterAll(() => recogniser.close());

const dictionary = loadDictionary('en-us');
const { names } = loadCommandPrompts('en-us');
const { entries } = spokenEntries(
  ['notes.txt', 'plan.txt', 'report.md', 'shopping.csv', 'todo.json'],
  names,
  dictionary,
);
const commands = new Commands(
  loadPhrases(dictionary),
  new Set(['current_time', 'list_dir', 'read_file']),
  new Map([['file', entries]]),
);
const grammar = {
  ...commands.grammar,
  id: 'with decoys',
  expression: [commands.grammar.expression, ...DECOYS].join(' | '),
};

/** What is heard of a recording over a phone line: 8 kHz µ-law, cut into utterances as a call does it. */
async function heard(name: string): Promise<(string | null)[]> {
  const utterances: Int16Array[] = [];
  const events = {
    onSpeechStarted: () => {},
    onSpeechStopped: (_: number, samples: Int16Array) => void utterances.push(samples),
  };
  const line = resample(await clip(name), 16_000, 8000);
  const ear = new Ear(PCMU_8K, events);
  ear.hear(encodeG711(line, 'pcmu'));
  ear.hear(new Uint8Array(8000).fill(0xff));
  ear.close();
  const texts: (string | null)[] = [];
  for (const each of utterances) texts.push((await recogniser.recognise(each, grammar)).text);
  return texts;
}

const human = ['human', 'human-gpl'].flatMap((folder) => {
  const path = fileURLToPath(new URL(`../../../fixtures/${folder}/`, import.meta.url));
  return readdirSync(path).map((name) => `fixtures/${folder}/${name}`);
});

describe('over a phone line, among decoys', () => {
  it.each([
    ['ask-time', 'what time is it', { kind: 'tool', tool: 'current_time', args: {} }],
    ['list-files', 'what files are there', { kind: 'tool', tool: 'list_dir', args: { path: '.' } }],
    [
      'read-notes',
      'please read me the file notes dot text',
      { kind: 'tool', tool: 'read_file', args: { path: '{file}' } },
    ],
    [
      'read-outside',
      'please read me the password file',
      { kind: 'tool', tool: 'read_file', args: { path: '/etc/passwd' } },
    ],
    ['long-answer', 'tell me about yourself', { kind: 'action', action: 'about' }],
    ['interrupt', 'please stop talking', { kind: 'action', action: 'stop' }],
    ['goodbye', 'okay thank you goodbye', { kind: 'action', action: 'goodbye' }],
  ] as const)('the demo’s caller is understood: %s', async (name, text, meaning) => {
    const texts = await heard(`assets/demo/${name}.wav`);
    expect(texts).toEqual([text]);
    expect(commands.match(text)?.meaning).toEqual(meaning);
  });

  it('has at least twenty decoys, none of which is a command', () => {
    expect(DECOYS.length).toBeGreaterThanOrEqual(20);
    expect(DECOYS.filter((decoy) => commands.match(decoy) !== null)).toEqual([]);
  });

  it.each(human)('a person who gives no command is not obeyed: %s', async (name) => {
    const texts = await heard(name);
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => text !== null && commands.match(text) !== null)).toEqual([]);
  });

  it.each(['8k-mulaw', 'clipped-8k-mulaw', 'noisy-10db-8k-mulaw'])(
    'speech that is no command is none: %s',
    async (variant) => {
      expect(await heard(`fixtures/synthesised/not-a-command-${variant}.wav`)).toEqual([null]);
    },
  );

  it.each(['8k-mulaw', '16k', '24k'])('a question is understood from %s', async (variant) => {
    expect(await heard(`fixtures/synthesised/what-time-is-it-${variant}.wav`)).toEqual(['what time is it']);
  });

  it.each(['clipped-8k-mulaw', 'noisy-10db-8k-mulaw'])(
    'a question that is hard to hear (%s) is understood or asked for again, never taken for another',
    async (variant) => {
      for (const text of await heard(`fixtures/synthesised/what-time-is-it-${variant}.wav`)) {
        expect([null, 'what time is it']).toContain(text);
      }
    },
  );
});
