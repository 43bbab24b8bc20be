// Elsewhere: two different events of one second were taken for one, and the second was dropped as a replay.

import { afterEach, describe, expect, it } from 'vitest';
import { callFields, closeRigs, offerOf, postSigned, ring, startRig } from '../server/rig.ts';

afterEach(closeRigs);

describe('bug 63: webhooks of one second', () => {
  it('of two calls are two calls, each with a token of its own', async () => {
    const rig = await startRig();
    const offers = await Promise.all(['CA1', 'CA2', 'CA3'].map((sid) => ring(rig, sid)));
    expect(new Set(offers.map(({ token }) => token)).size).toBe(3);
    expect(rig.desk.admitted.map(({ carrierCallId }) => carrierCallId).sort()).toEqual(['CA1', 'CA2', 'CA3']);
  });

  it('of one call, sent again because our answer was lost, are one call with one answer', async () => {
    const rig = await startRig();
    const url = `${rig.url}/twilio/voice`;
    const answers = await Promise.all([1, 2, 3].map(() => postSigned(url, callFields())));
    const tokens = await Promise.all(answers.map(async (answer) => offerOf(await answer.text()).token));
    expect(new Set(tokens).size).toBe(1);
    expect(rig.desk.admitted).toHaveLength(1);
  });
});
