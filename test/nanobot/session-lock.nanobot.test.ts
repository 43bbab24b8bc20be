/** Rows of a call wait for the text turn that runs in their session, at every level, and nothing is lost of either. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANSWER, SAID } from './caller.ts';
import { NanobotRig } from './rig.ts';

const KEY = 'unified:default';
/** Many times what a row takes from a call's end to its session's file. */
const LONG_MS = 1500;

describe.each(['full', 'public', 'delegate'])('at toolAccess "%s"', (toolAccess) => {
  let rig: NanobotRig;
  beforeAll(async () => {
    rig = await NanobotRig.start({
      realtime: { toolAccess, identity: { personSession: 'claimed' } },
      defaults: { unifiedSession: true },
    });
  });
  afterAll(() => rig.remove());

  it('a call that ends during a text turn is written after it', async () => {
    const { home, text, voice, web } = rig;
    const thinking = Promise.withResolvers<void>();
    text.willSay({ text: 'It took a while.', after: thinking.promise });
    const before = text.asked.length;
    const answer = web.ask('ann', 'Think about it');
    await rig.until(() => text.asked.length > before);

    await voice.place(home, rig.url, 'CA0L1', [], 140);
    await new Promise((resolve) => setTimeout(resolve, LONG_MS));
    const during = rig.spoken;
    thinking.resolve();

    expect(await answer).toBe('It took a while.');
    expect(during).toEqual([]);
    await rig.until(() => rig.spoken.some(({ content }) => content === ANSWER));
    const rows = (home.sessions().get(KEY) ?? []).map(({ role, content }) => [role, content]);
    expect(rows.slice(-4)).toEqual([
      ['user', expect.stringContaining('Think about it')],
      ['assistant', 'It took a while.'],
      ['user', SAID],
      ['assistant', ANSWER],
    ]);
    expect(rig.gateway.output).not.toContain('locks of sessions were not found');
  });

  it('and leaves nothing', () => rig.stop());
});
