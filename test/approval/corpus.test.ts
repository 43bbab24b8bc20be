import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerGrammar, readAnswer } from '../../src/approval/inline/answers.ts';
import { drawChallenge, matchKeys, spokenDigits } from '../../src/approval/inline/challenge.ts';
import { loadWording } from '../../src/approval/inline/wording.ts';
import { loadAudio } from '../../src/audio/index.ts';
import { createRecogniser, grammarWords, loadDictionary, type Recogniser } from '../../src/speech/index.ts';
import { CHALLENGE, runCorpus, SPOKEN, TYPED, WORDING } from './corpus.ts';

describe('a typed answer', () => {
  it.each(TYPED)('%j is %s', (text, kind) => {
    const expected = kind;

    expect(readAnswer(text, CHALLENGE, WORDING).kind).toBe(expected);
  });

  it('is one of at least 150 answers, spoken and typed together', () => {
    expect(TYPED.length + SPOKEN.length).toBeGreaterThanOrEqual(150);
  });

  it('of any of the 89 other challenges approves nothing', () => {
    for (let code = 10; code < 100; code++) {
      if (String(code) === CHALLENGE) continue;
      expect(readAnswer(`approve ${code}`, CHALLENGE, WORDING).kind).toBe('wrong_code');
      expect(matchKeys(String(code), CHALLENGE)).toBe('wrong');
    }
  });
});

describe('the challenge', () => {
  it('is two different digits that the prompt does not say, never 0 first', () => {
    for (let i = 0; i < 500; i++) {
      const code = drawChallenge('delete file: report 12 of four', WORDING.digits);
      expect(code).toMatch(/^[3567890]{2}$/);
      expect(code[0]).not.toBe('0');
      expect(code[0]).not.toBe(code[1]);
    }
  });

  it('never makes a prompt that holds the answer: no text of ours says "approve" and then the digits', () => {
    const code = spokenDigits(CHALLENGE, WORDING.digits);
    for (const text of [
      ...Object.values(WORDING.prompt),
      WORDING.again,
      WORDING.keysOnly,
      ...Object.values(WORDING.outcome),
    ]) {
      const said = text.replaceAll('{code}', code).replaceAll('{summary}', 'x');
      expect(said.toLowerCase()).not.toMatch(/approve\W+(zero|one|two|three|four|five|six|seven|eight|nine)/);
      for (const part of said.split(/[;,.]/)) expect(readAnswer(part, CHALLENGE, WORDING).kind).toBe('none');
    }
  });

  it.each(['en-us', 'fr-fr'])('is said in words that the recogniser of %s knows', (locale) => {
    const dictionary = loadDictionary(locale);
    const grammar = answerGrammar(loadWording(locale), locale);
    const unknown = [...grammarWords(grammar)].filter((word) => !dictionary.has(word));

    expect(unknown).toEqual([]);
  });
});

describe('a spoken answer on a telephone line', { timeout: 300_000 }, () => {
  let recogniser: Recogniser;
  beforeAll(async () => {
    await loadAudio();
    recogniser = createRecogniser({ locale: 'en-us', workers: 2 });
  });
  afterAll(() => recogniser.close());

  it('never approves by mistake, and the challenge is accepted four times of five (a third of the corpus; all of it in test:long)', async () => {
    const kinds = new Map<string, number>();
    const third = SPOKEN.filter((item) => {
      const index = kinds.get(item.kind) ?? 0;
      kinds.set(item.kind, index + 1);
      return item.kind === 'challenge'
        ? index % 8 === 0
        : item.snrDb === null
          ? index % 3 === 0
          : index % 9 === 0;
    });

    const figures = await runCorpus(recogniser, third);

    expect(figures.falseApprovals).toEqual([]);
    expect(figures.total).toBeGreaterThan(50);
    expect(figures.clean.accepted / figures.clean.said).toBeGreaterThanOrEqual(0.8);
    expect(figures.no.denied).toBeGreaterThan(0);
  });
});
