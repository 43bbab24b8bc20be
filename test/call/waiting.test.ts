/** A caller who waits for a tool: what they hear, and what they may say. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { FILLER_EVERY_MS, Fillers, PROGRESS_EVERY_MS, spokenProgress } from '../../src/call/fillers.ts';
import { WAITING_TONE_MS } from '../../src/call/tone.ts';
import { muteSynthesiser, settle, startCall } from './harness.ts';

beforeAll(() => loadAudio());

const quick = { config: { limits: { fillerAfterMs: 1000 } } } as const;

describe('while a tool runs, the caller', () => {
  it('hears the model’s own words first, and a filler only when they have died away', async () => {
    const test = startCall(quick);
    const model = test.models.current;
    model.respond();
    model.speak(1500);
    model.endItem();
    model.call('a', 'send_email');
    model.done();

    await test.advance(2400);
    expect(test.heardMs('verbatim_1')).toBe(0);
    await test.advance(600);

    expect(test.heardMs('verbatim_1')).toBeGreaterThan(200);
  });

  it('hears a filler again, and other words, when it takes long', async () => {
    const said: string[] = [];
    const synthesise = (text: string) => {
      said.push(text);
      return Promise.resolve({ samples: new Int16Array(6400).fill(3000), sampleRate: 16000 as const });
    };
    const test = startCall({
      ...quick,
      parts: { synthesiser: { synthesise, close: () => Promise.resolve() } },
    });
    test.models.current.respond();
    test.models.current.call('a', 'send_email');
    test.models.current.done();

    await test.advance(1000 + 2 * (FILLER_EVERY_MS + 600));

    expect(said).toHaveLength(3);
    expect(new Set(said).size).toBe(3);
  });

  it('is told how far the tool is, when it says so', async () => {
    const said: string[] = [];
    const synthesise = (text: string) => {
      said.push(text);
      return Promise.resolve({ samples: new Int16Array(3200).fill(3000), sampleRate: 16000 as const });
    };
    const test = startCall({
      ...quick,
      parts: { synthesiser: { synthesise, close: () => Promise.resolve() } },
    });
    test.models.current.respond();
    test.models.current.call('a', 'send_email');
    test.models.current.done();
    await test.advance(1500);

    test.gateway.pending[0]!.options.onProgress!('Two of\nfive letters are written.');
    await test.advance(PROGRESS_EVERY_MS + 300);

    expect(said.at(-1)).toBe('Still working on it: Two of five letters are written.');
  });

  it('hears a soft tone when there is no voice to say it with', async () => {
    const test = startCall({ ...quick, parts: { synthesiser: muteSynthesiser } });
    test.models.current.respond();
    test.models.current.call('a', 'send_email');
    test.models.current.done();

    await test.advance(1200 + WAITING_TONE_MS + 200);

    expect(test.heardMs('verbatim_1')).toBe(WAITING_TONE_MS);
    test.gateway.pending[0]!.finish('sent');
    await settle();
    expect(test.models.current.outputs.get('a')).toBe('sent');
  });

  it('may ask whether anybody is there: the answer comes, and the tool goes on', async () => {
    const test = startCall(quick);
    const model = test.models.current;
    model.respond();
    model.call('a', 'read_file');
    model.done();
    await test.advance(4000);

    model.callerSpeaks();
    await test.advance(900);
    model.callerSaid('u1', 'Are you still there?');
    model.respond();
    model.speak(700);
    model.endItem();
    model.done();
    await test.advance(900);

    expect(test.heardMs('r2_i')).toBe(700);
    expect(test.gateway.aborted).toBe(0);
    test.gateway.pending[0]!.finish('the file');
    await settle();
    expect(model.outputs.get('a')).toBe('the file');
    expect(model.requests).toHaveLength(1);
    expect(test.violations).toEqual([]);
  });

  it('may have it stopped: what only reads is aborted, what acts is said to go on', async () => {
    const test = startCall(quick);
    const model = test.models.current;
    model.respond();
    model.call('reads', 'read_file');
    model.call('acts', 'send_email');
    model.done();
    await test.advance(400);

    model.callerSpeaks();
    await test.advance(400);
    model.callerSaid('u1', 'Stop.');
    model.respond();
    model.call('stop', 'stop_working');
    model.done();
    await settle();

    expect(test.gateway.aborted).toBe(1);
    expect(model.outputs.get('reads')).toMatch(/^Cancelled/);
    expect(model.outputs.get('stop')).toBe(
      'Stopped: read_file. Still finishing, and can not be taken back: send_email.',
    );
    expect(model.outputs.has('acts')).toBe(false);
    // Each batch has its answer: the one that was cut short, and "stopped".
    expect(model.requests).toHaveLength(1);
    test.gateway.pending.find((tool) => tool.name === 'send_email')!.finish('sent');
    await settle();
    expect(test.violations).toEqual([]);
  });

  it('is not asked about their silence meanwhile', async () => {
    const test = startCall({ config: { limits: { silenceTimeoutS: 5, fillerAfterMs: 60_000 } } });
    test.models.current.respond();
    test.models.current.call('a', 'send_email');
    test.models.current.done();

    await test.advance(20_000);

    expect(test.heardMs('verbatim_1')).toBe(0);
    expect(test.ended).toBeNull();
  });
});

describe('a filler', () => {
  const tool = (startedAt: number, progress: { text: string; at: number } | null = null) => [
    { startedAt, progress },
  ];

  it('counts its wait from the last word on the line', () => {
    const fillers = new Fillers(1000);
    expect(fillers.tick(0, true, tool(0))).toBeNull();
    expect(fillers.tick(800, false, tool(0))).toBeNull();
    expect(fillers.tick(1700, true, tool(0))).toBeNull();

    expect(fillers.tick(1800, true, tool(0))).toEqual({ type: 'words', index: 0 });
  });

  it('reports the same progress once', () => {
    const fillers = new Fillers(1000);
    const progress = { text: 'half', at: 500 };
    expect(fillers.tick(1000, true, tool(0, progress))).toEqual({ type: 'progress', text: 'half' });
    expect(fillers.tick(1000 + PROGRESS_EVERY_MS, true, tool(0, progress))).toBeNull();

    expect(fillers.tick(1000 + FILLER_EVERY_MS, true, tool(0, progress))).toEqual({
      type: 'words',
      index: 1,
    });
  });

  it('never speaks more of a report than one short line', () => {
    expect(spokenProgress('  a\n\u0007b  ')).toBe('a b');
    expect(spokenProgress('x'.repeat(1000))).toHaveLength(160);
    expect(spokenProgress('…')).toBe('');
  });
});
