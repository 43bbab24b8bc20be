import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import type { CallMedia } from '../../src/call/options.ts';
import type { TurnOutcome } from '../../src/store/index.ts';
import { MemoryStore, settle, startCall, type TestCall } from '../call/harness.ts';

beforeAll(() => loadAudio());

class WatchedStore extends MemoryStore {
  readonly commits: (TurnOutcome & { readonly turn: number })[] = [];
  override async commitTurn(callId: string, turn: number, outcome: TurnOutcome): Promise<void> {
    await super.commitTurn(callId, turn, outcome);
    this.commits.push({ turn, ...outcome });
  }
}

const media: CallMedia = {
  openCall: async () => {},
  closeCall: () => {},
  uses: () => true,
  isMediaTool: (name) => name === 'send_email',
  visible: (_, definitions) => definitions.filter(({ function: { name } }) => name !== 'read_file'),
};

/** A call whose model has called a tool in the caller's first turn. */
async function calledTool(
  parts: { media?: CallMedia } = { media },
): Promise<{ test: TestCall; store: WatchedStore }> {
  const store = new WatchedStore();
  const test = startCall({ parts: { ...parts, store } });
  const model = test.models.current;
  await test.advance(100);
  model.callerSpeaks();
  await test.advance(400);
  model.callerSaid('u1', 'Send it to me.');
  model.respond();
  model.call('t1', 'send_email');
  model.done('completed');
  await test.advance(100);
  return { test, store };
}

const replies = ({ commits }: WatchedStore) => commits.flatMap(({ replies: what }) => (what ? [what] : []));

describe('media on a call', () => {
  it('run a media tool for the turn, once that turn is in the store', async () => {
    const { test, store } = await calledTool();

    expect(test.gateway.pending[0]?.options).toMatchObject({ callId: 'c1', toolCallId: 't1', turn: 1 });
    expect(store.turns.has('c1:1')).toBe(true);
    test.call.end('caller_hangup');
  });

  it('let go what a turn queued once the model has answered', async () => {
    const { test, store } = await calledTool();
    const before = replies(store).length;
    test.gateway.pending[0]?.finish('{"status":"queued","message":"x"}');
    await test.advance(100);
    expect(store.commits.some(({ tools }) => tools?.[0]?.callId === 't1')).toBe(true);
    expect(replies(store)).toHaveLength(before);

    test.models.current.respond();
    test.models.current.done('completed');
    await settle();

    expect(store.commits.at(-1)).toMatchObject({ turn: 1, replies: 'release' });
    test.call.end('caller_hangup');
  });

  it('drop what a turn queued when the model fails, and say so in our own words', async () => {
    const { test, store } = await calledTool();
    test.gateway.pending[0]?.finish('{"status":"queued","message":"x"}');
    await test.advance(100);
    test.models.current.respond();
    test.models.current.done('failed');
    await test.advance(4000);

    expect(store.commits).toContainEqual({ turn: 1, replies: 'drop' });
    expect(test.progress).toContainEqual(
      expect.objectContaining({
        type: 'agent_said',
        text: expect.stringContaining('lost my train of thought'),
      }),
    );
    test.call.end('caller_hangup');
  });

  it('change nothing of a call that has none', async () => {
    const { test, store } = await calledTool({});
    test.gateway.pending[0]?.finish('ok');
    await test.advance(100);
    test.models.current.respond();
    test.models.current.done('completed');
    await settle();

    expect(replies(store)).toEqual([]);
    test.call.end('caller_hangup');
  });

  it('have the fallback said when nobody speaks, and not at all when the call ends before', async () => {
    const { test } = await calledTool();
    test.gateway.pending[0]?.finish('ok');
    await test.advance(100);
    test.models.current.respond();
    test.models.current.done('completed');
    test.models.current.callerSpeaks();
    let isSaid: boolean | null = null;
    void test.call.speakWhenQuiet('There is a picture.', new AbortController().signal).then((said) => {
      isSaid = said;
    });
    await test.advance(400);
    expect(isSaid).toBeNull();

    test.call.end('caller_hangup');
    await settle();

    expect(isSaid).toBe(false);
  });

  it('have the fallback said, once, as soon as the caller is silent and has been answered', async () => {
    const { test } = await calledTool();
    test.gateway.pending[0]?.finish('ok');
    await test.advance(100);
    test.models.current.respond();
    test.models.current.done('completed');
    test.models.current.callerSpeaks();
    const said = test.call.speakWhenQuiet('There is a picture.', new AbortController().signal);
    await test.advance(400);

    test.models.current.callerSaid('u2', 'Where is it?');
    test.models.current.respond();
    test.models.current.speak(300);
    test.models.current.done('completed');
    await test.advance(6000);

    expect(await said).toBe(true);
    const texts = test.progress.flatMap((each) => (each.type === 'agent_said' ? [each.text] : []));
    expect(texts.filter((text) => text === 'There is a picture.')).toHaveLength(1);
    test.call.end('caller_hangup');
  });
});
