import { describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { createRecogniser } from '../../src/speech/index.ts';
import { runCorpus, SPOKEN } from './corpus.ts';

describe('the whole corpus of spoken answers', { timeout: 900_000 }, () => {
  it('holds no false approval, clean or in noise', async () => {
    await loadAudio();
    const recogniser = createRecogniser({ locale: 'en-us', workers: 2 });

    const figures = await runCorpus(recogniser, SPOKEN);
    await recogniser.close();

    // The figures of docs/reference/approvals.md.
    console.info(JSON.stringify(figures));
    expect(figures.falseApprovals).toEqual([]);
    expect(figures.clean.accepted / figures.clean.said).toBeGreaterThanOrEqual(0.8);
  });
});
