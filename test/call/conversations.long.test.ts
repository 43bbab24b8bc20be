import fc from 'fast-check';
import { beforeAll, describe, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { conversation, playConversation, SEED } from './conversations.ts';

const RUNS = 200_000;

beforeAll(() => loadAudio());

describe('the invariants of a call', () => {
  it(`hold in ${RUNS} random conversations (seed ${SEED})`, { timeout: 2_400_000 }, async () => {
    await fc.assert(fc.asyncProperty(conversation, playConversation), { numRuns: RUNS, seed: SEED });
  });
});
