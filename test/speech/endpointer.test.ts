import { describe, expect, it } from 'vitest';
import { Endpointer, type EndpointerEvent, type EndpointerOptions } from '../../src/speech/index.ts';

/** Feeds runs of `[probability, windows]` and collects the events. */
function run(runs: readonly (readonly [number, number])[], options?: EndpointerOptions): EndpointerEvent[] {
  const endpointer = new Endpointer(options);
  return runs
    .flatMap(([probability, windows]) => Array.from({ length: windows }, () => endpointer.push(probability)))
    .filter((event) => event !== null);
}

describe('the endpointer', () => {
  it('says where speech began and where it ended, not when it noticed', () => {
    expect(
      run([
        [0, 10],
        [0.9, 20],
        [0, 40],
      ]),
    ).toEqual([
      { type: 'speechStarted', atMs: 320 },
      { type: 'speechStopped', atMs: 960, reason: 'silence' },
    ]);
  });

  it('takes no notice of a click', () => {
    expect(
      run([
        [0, 5],
        [0.9, 2],
        [0, 40],
        [0.9, 1],
        [0, 40],
      ]),
    ).toEqual([]);
  });

  it('notices speech after the least length that counts', () => {
    const endpointer = new Endpointer({ minSpeechMs: 96 });
    expect([0.9, 0.9, 0.9].map((each) => endpointer.push(each)?.type)).toEqual([
      undefined,
      undefined,
      'speechStarted',
    ]);
    expect(endpointer.speaking).toBe(true);
  });

  it('keeps a pause between words inside one utterance', () => {
    const events = run(
      [
        [0.9, 10],
        [0, 14],
        [0.9, 10],
        [0, 20],
      ],
      { silenceMs: 500 },
    );
    expect(events.map((event) => event.type)).toEqual(['speechStarted', 'speechStopped']);
  });

  it('ends nothing and restarts nothing between its two thresholds', () => {
    const fading = run(
      [
        [0.9, 10],
        [0.4, 100],
      ],
      { maxSpeechMs: 60_000 },
    );
    expect(fading.map((event) => event.type)).toEqual(['speechStarted']);
    const silentFirst = run([
      [0.9, 10],
      [0, 1],
      [0.4, 20],
    ]);
    expect(silentFirst.at(-1)).toEqual({ type: 'speechStopped', atMs: 320, reason: 'silence' });
  });

  it('cuts speech that never ends, and begins again', () => {
    const events = run([[0.9, 100]], { maxSpeechMs: 1600 });
    expect(events).toEqual([
      { type: 'speechStarted', atMs: 0 },
      { type: 'speechStopped', atMs: 1600, reason: 'too-long' },
      { type: 'speechStarted', atMs: 1600 },
      { type: 'speechStopped', atMs: 3200, reason: 'too-long' },
    ]);
  });

  it('forgets an utterance on reset, but not the time', () => {
    const endpointer = new Endpointer();
    for (let i = 0; i < 10; i++) endpointer.push(0.9);
    endpointer.reset();
    expect(endpointer.speaking).toBe(false);
    expect(endpointer.nowMs).toBe(320);
    for (let i = 0; i < 2; i++) expect(endpointer.push(0.9)).toBeNull();
    expect(endpointer.push(0.9)).toEqual({ type: 'speechStarted', atMs: 320 });
  });
});
