/**
 * The demo as its user has it: one command, then what it left behind, listened to by numbers and recognised again.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAudio, readWav, resample } from '../../src/audio/index.ts';
import type { CallEvent, CallRecord } from '../../src/observe/index.ts';
import { createRecogniser, createSynthesiser, type Recogniser } from '../../src/speech/index.ts';
import { DECOYS } from './listening.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RATE = 8000;
/** The voice leaves this much silence between two sentences of one answer. */
const SENTENCE_PAUSE_MS = 180;

/** Sentences that the agent must have said, as a listener would write them down. */
const SAID = [
  'how can i help you',
  'one moment please',
  'call the dentist on monday',
  'the train to paris leaves at seven',
  'buy bread and coffee',
  'i have a test picture for you but i can not show it on this line',
  'thank you for your call',
];
const GRAMMAR = { id: 'listener', expression: [...SAID, ...DECOYS].join(' | ') };

let out: string;
let printed: string;
let page: string;
let record: CallRecord;
let caller: Int16Array;
let agent: Int16Array;
let recogniser: Recogniser;

const ms = (value: number) => Math.round((value * RATE) / 1000);
const spoken = () => record.events.filter((event) => event.type === 'agent_speech');
const interruptions = () =>
  record.events.filter(
    (event): event is Extract<CallEvent, { type: 'interruption' }> => event.type === 'interruption',
  );
const tools = () => record.events.filter((event) => event.type === 'tool');
const slice = (track: Int16Array, event: { atMs: number; endMs: number }) =>
  track.slice(ms(event.atMs), ms(event.endMs));

/** How much of it is sound. */
function loudMs(samples: Int16Array): number {
  let ms = 0;
  for (let at = 0; at + 160 <= samples.length; at += 160)
    if (samples.subarray(at, at + 160).some((sample) => Math.abs(sample) > 300)) ms += 20;
  return ms;
}

/** Cuts an answer at the pauses between its sentences. */
function sentences(samples: Int16Array): Int16Array[] {
  const parts: Int16Array[] = [];
  let start = 0;
  let zeros = 0;
  for (let i = 0; i <= samples.length; i++) {
    if (i < samples.length && samples[i] === 0) {
      zeros++;
      continue;
    }
    if (zeros >= ms(SENTENCE_PAUSE_MS / 2) || i === samples.length) {
      const part = samples.slice(start, i - zeros);
      if (part.length > ms(200)) parts.push(part);
      start = i;
    }
    zeros = 0;
  }
  return parts;
}

async function recognised(samples: Int16Array): Promise<string | null> {
  const padded = new Int16Array(samples.length + ms(400));
  padded.set(samples, ms(200));
  return (await recogniser.recognise(resample(padded, 8000, 16000), GRAMMAR)).text;
}

beforeAll(async () => {
  await loadAudio();
  recogniser = createRecogniser({ locale: 'en-us' });
  out = mkdtempSync(join(tmpdir(), 'demo-'));
  const cli = join(ROOT, 'src/cli/main.ts');
  const args = ['--disable-warning=ExperimentalWarning', cli, 'demo', '--fast', '--out', out];
  const result = await promisify(execFile)(process.execPath, args, { cwd: out, timeout: 120_000 });
  printed = result.stdout;
  const folder = join(out, readdirSync(out)[0]!);
  record = JSON.parse(readFileSync(join(folder, 'call.json'), 'utf8'));
  page = readFileSync(join(folder, 'call.html'), 'utf8');
  const wav = readWav(readFileSync(join(folder, 'call.wav')));
  expect(wav.sampleRate).toBe(RATE);
  [caller, agent] = wav.channels as [Int16Array, Int16Array];
}, 150_000);

afterAll(async () => {
  await recogniser.close();
  rmSync(out, { recursive: true, force: true });
});

describe('the demo', () => {
  it('runs the tools that the caller asked for, and the guard refuses the one outside the workspace', () => {
    expect(tools().map((tool) => [tool.name, tool.isError])).toEqual([
      ['current_time', false],
      ['list_dir', false],
      ['read_file', false],
      ['count_words', false],
      ['read_file', true],
      ['send_test_image', false],
      // Asked to approve it: refused by voice the first time, by the keyed code approved the second.
      ['delete_file', false],
      ['delete_file', false],
      ['end_call', false],
    ]);
    expect(tools()[1]!.output).toContain('notes.txt');
    expect(tools()[4]!.output).toContain('is outside allowed directory');
    expect(spoken().some((event) => /not allowed/.test(event.text))).toBe(true);
  });

  it('understands the caller in every turn', () => {
    const heard = record.events.filter((event) => event.type === 'caller_speech').map((event) => event.text);
    const understood = heard.filter((text) => text !== null && text !== '');

    // The cough is the one sound in which there is nothing to understand.
    expect(heard).toHaveLength(12);
    expect(understood).toHaveLength(11);
    expect(heard.indexOf('')).toBe(9);
  });

  it('asks before it deletes: no means no, and the right digits mean once', () => {
    const said = spoken().map((event) => event.text);
    const prompts = said.filter((text) =>
      text.startsWith('I need your approval for delete file: report dot txt'),
    );

    expect(prompts).toHaveLength(2);
    expect(said.indexOf('All right. Nothing was done.')).toBeGreaterThan(said.indexOf(prompts[0]!));
    expect(said.filter((text) => text === 'Approved. I will do it now.')).toHaveLength(1);
    expect(said.filter((text) => text === 'Deleted report.txt.')).toHaveLength(1);
    // What was keyed and answered is in no record.
    const code = /code is (\w+ \w+);/.exec(prompts[1]!)![1]!;
    expect(JSON.stringify(record.events.filter((event) => event.type === 'caller_speech'))).not.toContain(
      code,
    );
  });

  it('tells the caller of the picture that a phone can not show, word for word, once, after the answer', () => {
    const said = spoken().map((event) => event.text);
    const fallback = 'I have a test picture for you, but I can not show it on this line.';

    expect(tools()[5]?.output).toBe(
      '{"status":"queued","message":"It is on its way, and has not arrived yet."}',
    );
    expect(said.filter((text) => text.includes('test picture for you'))).toEqual([fallback]);
    expect(said[said.indexOf(fallback) - 1]).toContain('It is on its way');
    expect(spoken()[said.indexOf(fallback)]?.whole).toBe(true);
    expect(record.events.filter(({ type }) => type === 'media')).toMatchObject([
      { caption: 'Test picture', kind: 'image', route: 'spoken' },
    ]);
    expect(page).toContain('Test picture (image, told of in words)');
  });

  it('ends when the goodbye was heard, not before', () => {
    const goodbye = spoken().at(-1)!;

    expect(record.endReason).toBe('agent_hangup');
    expect(goodbye.text).toMatch(/goodbye/i);
    expect(goodbye.whole).toBe(true);
    expect(record.events.filter((event) => event.type === 'fault')).toEqual([]);
  });

  it('prints what the record says', () => {
    for (const event of spoken()) expect(printed).toContain(event.text);
    for (const tool of tools()) expect(printed).toContain(`${tool.name} `);
    expect(printed).toContain('refused or failed');
    expect(printed).toContain(record.id);
  });

  it('can be recognised again in the sound file, among decoys', async () => {
    const heard: (string | null)[] = [];
    for (const event of spoken())
      for (const part of sentences(slice(agent, event))) heard.push(await recognised(part));

    expect(DECOYS.length).toBeGreaterThanOrEqual(20);
    for (const sentence of SAID) expect(heard).toContain(sentence);
    expect(heard.filter((text) => text !== null && DECOYS.some((decoy) => decoy === text))).toEqual([]);
  });

  it('is not recognised in another call’s audio', async () => {
    const synthesiser = createSynthesiser({ locale: 'en-us' });
    const other = [
      'Your parcel is waiting at the station.',
      'Our shop opens again next summer.',
      'Please hold the line.',
    ];
    const heard: (string | null)[] = [];
    for (const text of other) {
      const { samples } = await synthesiser.synthesise(text);
      heard.push(await recognised(resample(samples, 16000, 8000)));
    }
    await synthesiser.close();

    expect(heard.filter((text) => text !== null && SAID.includes(text))).toEqual([]);
  });

  it('has no gap inside a sentence and does not clip', () => {
    for (const event of spoken()) {
      const samples = slice(agent, event);
      expect(holes(samples), event.text).toEqual([]);
      expect(Math.max(...samples), event.text).toBeLessThan(32_100);
      expect(Math.min(...samples), event.text).toBeGreaterThan(-32_100);
    }
  });

  it('covers the wait for a slow tool with a filler, and then gives its answer', () => {
    const tool = tools().find((each) => each.name === 'count_words')!;
    const said = spoken().filter((event) => event.atMs >= tool.atMs);

    expect(tool.endMs - tool.atMs).toBeGreaterThanOrEqual(4000);
    expect(said[0]).toMatchObject({ source: 'verbatim', whole: true, text: 'One moment, please.' });
    expect(said[0]!.atMs - tool.atMs).toBeLessThan(3000);
    expect(said[1]!.text).toMatch(/^There are \d+ words in 3 files/);
    // At once, or after the filler that has just begun when the result comes.
    expect(said[1]!.atMs - tool.endMs).toBeLessThan(4000);
  });

  it('goes on after the cough where it was cut: no sentence of the answer is lost, and none is told twice', () => {
    const [cough] = interruptions();
    const resumption = record.events.find((event) => event.type === 'resumption')!;
    const [before, after] = spoken().filter((event) => !event.whole);

    expect(interruptions()).toHaveLength(2);
    expect(resumption.atMs - cough!.atMs).toBeLessThan(3000);
    expect(cough!.heardMs + resumption.restMs).toBeGreaterThan(cough!.itemMs);
    expect(cough!.heardMs + resumption.restMs).toBeLessThan(cough!.itemMs + 500);
    // The same voice, the same words: what was heard of both parts is the beginning of the answer.
    expect(before!.text).toMatch(/^I am the offline voice of this agent/);
    expect(after!.text).toMatch(/^I run entirely on this machine/);
    expect(loudMs(slice(agent, after!))).toBeGreaterThan(2000);
  });

  it('falls silent within 200 ms of the caller’s first sound over the long answer', () => {
    const cut = interruptions()[1]!;
    const from = ms(cut.atMs - 1500);
    const firstSound = from + caller.subarray(from).findIndex((sample) => Math.abs(sample) > 300);
    const until = ms(cut.atMs + 1500);
    let lastAgentSound = 0;
    for (let i = from; i < until; i++) if (Math.abs(agent[i]!) > 100) lastAgentSound = i;

    expect(cut.heardMs).toBeGreaterThan(2500);
    expect(cut.itemMs).toBeGreaterThan(10_000);
    expect(lastAgentSound).toBeGreaterThan(firstSound);
    expect(((lastAgentSound - firstSound) / RATE) * 1000).toBeLessThan(200);
  });
});

/** Runs of digital silence over 40 ms that are not the pause between two sentences. */
function holes(samples: Int16Array): number[] {
  const found: number[] = [];
  let zeros = 0;
  for (const sample of samples) {
    if (sample === 0) {
      zeros++;
      continue;
    }
    if (zeros > ms(40) && Math.abs(zeros - ms(SENTENCE_PAUSE_MS)) > 16) found.push(zeros / 8);
    zeros = 0;
  }
  return found;
}
