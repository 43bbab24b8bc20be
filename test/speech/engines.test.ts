import { afterAll, describe, expect, it } from 'vitest';
import {
  createRecogniser,
  createSynthesiser,
  MAX_CACHED_SENTENCES,
  MAX_SYNTHESIS_CHARS,
  type SpeechGrammar,
  trimSilence,
} from '../../src/speech/index.ts';
import { rms } from '../audio/signals.ts';
import { clip, utterance } from './clips.ts';

const synthesiser = createSynthesiser({ locale: 'en-us' });
const french = createSynthesiser({ locale: 'fr-fr' });
const recogniser = createRecogniser({ locale: 'en-us' });
const frenchRecogniser = createRecogniser({ locale: 'fr-fr' });

afterAll(() => Promise.all([synthesiser, french, recogniser, frenchRecogniser].map((each) => each.close())));

const grammar = (expression: string, more?: Partial<SpeechGrammar>): SpeechGrammar => ({
  id: `${expression} ${JSON.stringify(more ?? {})}`,
  expression,
  ...more,
});

describe('the synthesiser', () => {
  it('says what it is told: the recogniser understands it again', async () => {
    const { samples, sampleRate } = await synthesiser.synthesise('Please say that again.');
    expect(sampleRate).toBe(16_000);
    const heard = await recogniser.recognise(samples, grammar('please say that again | good morning'));
    expect(heard.text).toBe('please say that again');
  });

  it('starts and ends close to the speech', async () => {
    const { samples } = await synthesiser.synthesise('Good morning.');
    expect(rms(samples.subarray(0, 1600))).toBeGreaterThan(100);
    expect(rms(samples.subarray(-2400))).toBeGreaterThan(60);
    expect(samples.length / 16_000).toBeLessThan(1.2);
  });

  it('makes no sound of nothing', async () => {
    expect((await synthesiser.synthesise(' … ')).samples).toHaveLength(0);
    expect(trimSilence(new Int16Array(5000))).toHaveLength(0);
  });

  it('treats options and control characters in a text as text', async () => {
    const plain = await synthesiser.synthesise('hello');
    const odd = await synthesiser.synthesise('-o /etc/passwd hello\u0000 hello');
    expect(odd.samples.length).toBeGreaterThan(plain.samples.length);
  });

  it('gives the same speech for the same text, from its memory too, which is bounded', async () => {
    const first = await synthesiser.synthesise('One moment, please.');
    const again = await synthesiser.synthesise('One moment, please.');
    expect(again.samples).toBe(first.samples);
    for (let i = 0; i < MAX_CACHED_SENTENCES; i++) await synthesiser.synthesise(`a ${i}`);
    const anew = await synthesiser.synthesise('One moment, please.');
    expect(anew.samples).not.toBe(first.samples);
    expect(anew.samples).toEqual(first.samples);
  });

  it('speaks several sentences with a pause between', async () => {
    const one = await synthesiser.synthesise('Good morning.');
    const two = await synthesiser.synthesise('Good morning. Good morning.');
    expect(two.samples.length).toBe(one.samples.length * 2 + 0.18 * 16_000);
  });

  it('refuses a text that is too long, and one that is not wanted any more', async () => {
    const long = 'a'.repeat(MAX_SYNTHESIS_CHARS + 1);
    await expect(synthesiser.synthesise(long)).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    const signal = AbortSignal.abort(new Error('not wanted'));
    await expect(synthesiser.synthesise('never said', { signal })).rejects.toThrow('not wanted');
  });

  it('speaks French in French sounds', async () => {
    const asFrench = await french.synthesise('Quelle heure est-il ?');
    const asEnglish = await synthesiser.synthesise('Quelle heure est-il ?');
    expect(asFrench.samples.length / 16_000).toBeGreaterThan(0.7);
    expect(asFrench.samples).not.toEqual(asEnglish.samples);
  });
});

describe('the recogniser', () => {
  it('understands a person', async () => {
    const commands = grammar('go (forward | backward) (two | ten) meters | turn (left | right)');
    const heard = await recogniser.recognise(await clip('fixtures/human/go-forward.wav'), commands);
    expect(heard.text).toBe('go forward ten meters');
  });

  it('understands a person who reads cards', async () => {
    const rank = '(ace | two | three | four | five | six | seven | eight | nine | ten | jack | queen | king)';
    const commands = grammar(`<card> [<card>] [<card>]`, {
      rules: { card: `${rank} of (clubs | hearts | spades | diamonds)` },
    });
    const heard = await recogniser.recognise(await clip('fixtures/human/cards-5.wav'), commands);
    expect(heard.text).toBe('eight of spades four of clubs seven of hearts');
  });

  it.each(['go-forward', 'cards-1', 'cards-3', 'librivox-0880', 'librivox-0930', 'something', 'numbers'])(
    'takes %s for neither yes nor no, nor for an approval',
    async (name) => {
      const answers = grammar(
        'yes [please] | no [thank you] | approve | deny | okay | stop | i approve | go ahead',
      );
      expect((await recogniser.recognise(await clip(`fixtures/human/${name}.wav`), answers)).text).toBeNull();
    },
  );

  it('hears nothing in silence', async () => {
    expect((await recogniser.recognise(new Int16Array(16_000), grammar('yes | no'))).text).toBeNull();
  });

  it('gives the same for the same audio, whatever it heard before', async () => {
    const commands = grammar('what time is it | good morning');
    const question = await clip('fixtures/synthesised/what-time-is-it-8k-mulaw.wav');
    const first = await recogniser.recognise(question, commands);
    await recogniser.recognise(await clip('fixtures/human/librivox-0890.wav'), grammar('something else'));
    expect(await recogniser.recognise(question, commands)).toEqual(first);
    expect(first.text).toBe('what time is it');
  });

  it('leaves the caller’s samples alone', async () => {
    const question = await clip('fixtures/synthesised/what-time-is-it-16k.wav');
    await recogniser.recognise(question, grammar('what time is it'));
    expect(question.length).toBeGreaterThan(16_000);
  });

  it('names a word that it can’t pronounce, and learns it when told how', async () => {
    const audio = new Int16Array(8000);
    await expect(recogniser.recognise(audio, grammar('hello nanobotty'))).rejects.toMatchObject({
      code: 'PHRASE_INVALID',
      message: expect.stringContaining('nanobotty'),
    });
    const bad = grammar('hello nanobotty', { pronunciations: { nanobotty: 'N QQ' } });
    await expect(recogniser.recognise(audio, bad)).rejects.toMatchObject({ code: 'PHRASE_INVALID' });
    const good = grammar('hello nanobotty', { pronunciations: { nanobotty: 'N AE N OW B AA T IY' } });
    expect((await recogniser.recognise(audio, good)).text).toBeNull();
  });

  it('refuses a grammar that can’t be parsed, and works on', async () => {
    await expect(recogniser.recognise(new Int16Array(8000), grammar('yes ( no'))).rejects.toMatchObject({
      code: 'PHRASE_INVALID',
    });
    expect((await recogniser.recognise(new Int16Array(8000), grammar('yes | no'))).text).toBeNull();
  });

  it('refuses an utterance that is too long, and a locale without a model', async () => {
    const long = new Int16Array(31 * 16_000);
    await expect(recogniser.recognise(long, grammar('yes'))).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    expect(() => createRecogniser({ locale: 'de-de' })).toThrow(
      expect.objectContaining({ code: 'SPEECH_FAILED' }),
    );
  });

  it('understands a person’s French, and takes other French for none of it', async () => {
    const phrases = grammar(
      'message (supprimé | restauré) | la conférence est verrouillée | au revoir | liste les fichiers | quelle heure est il',
    );
    const recognise = async (name: string) =>
      (await frenchRecogniser.recognise(await utterance(`fixtures/human/armelle-${name}.wav`), phrases)).text;
    expect(await recognise('vm-deleted')).toBe('message supprimé');
    expect(await recognise('conf-lockednow')).toBe('la conférence est verrouillée');
    for (const name of ['vm-sorry', 'vm-repeat', 'conf-onlyperson', 'hello-world', 'auth-thankyou']) {
      expect(await recognise(name)).toBeNull();
    }
  });
});
