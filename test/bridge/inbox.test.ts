import { describe, expect, it } from 'vitest';
import { Inbox } from '../../src/bridge/inbox.ts';
import type { ChannelMessage } from '../../src/channel/index.ts';
import { silentLogger } from '../../src/observe/index.ts';

function setUp() {
  const said: ChannelMessage[] = [];
  const desk = { callOfChat: (chatId: string) => (chatId === 'ada' ? { id: 'c1' } : undefined) };
  const inbox = new Inbox({
    channel: {
      name: 'realtime',
      desk: desk as never,
      ring: async (chatId) => chatId === 'listed',
      send: async (message) => {
        said.push(message);
        throw new Error('the line is gone');
      },
    },
    files: null,
    logger: silentLogger,
  });
  return { inbox, said };
}
const ASKED = { realtime_request: 'r1', thread: 5 };

describe('what the agent says to the channel', () => {
  it('is spoken when it is final and for a caller on the line', async () => {
    const { inbox, said } = setUp();

    expect(await inbox.take({ chatId: 'ada', content: 'Your parcel is here.', kind: 'final' })).toEqual({
      handled: 'spoken',
      media: 0,
    });
    expect(said).toEqual([{ chatId: 'ada', content: 'Your parcel is here.', metadata: {} }]);
  });

  it('answers a request, with its mark, whoever is on the line', async () => {
    const { inbox, said } = setUp();

    expect(
      await inbox.take({ chatId: 'bob', content: 'Done.', metadata: ASKED, kind: 'final' }),
    ).toMatchObject({ handled: 'answer' });
    expect(said).toEqual([{ chatId: 'bob', content: 'Done.', metadata: ASKED }]);
  });

  it('is progress of a request, and nothing for the ear otherwise', async () => {
    const { inbox, said } = setUp();

    expect(
      await inbox.take({ chatId: 'ada', content: 'Searching', metadata: ASKED, kind: 'progress' }),
    ).toMatchObject({ handled: 'progress' });
    expect(await inbox.take({ chatId: 'ada', content: 'Searching', kind: 'progress' })).toMatchObject({
      handled: 'dropped',
    });
    expect(await inbox.take({ chatId: 'ada', content: '{"tool":1}', kind: 'other' })).toMatchObject({
      handled: 'dropped',
    });
    expect(said).toEqual([{ chatId: 'ada', content: 'Searching', metadata: { ...ASKED, _progress: true } }]);
  });

  it('is not made progress by a mark in its metadata', async () => {
    const { inbox, said } = setUp();

    await inbox.take({
      chatId: 'ada',
      content: 'Done.',
      metadata: { ...ASKED, _progress: true },
      kind: 'final',
    });

    expect(said[0]?.metadata).toEqual(ASKED);
  });

  it('rings its person up, where the config lists them', async () => {
    const { inbox, said } = setUp();

    expect(await inbox.take({ chatId: 'listed', content: 'Hello', kind: 'final' })).toMatchObject({
      handled: 'rings',
    });
    expect(await inbox.take({ chatId: 'listed', content: ' ', kind: 'final' })).toMatchObject({
      handled: 'kept',
    });
    expect(said).toEqual([]);
  });

  it('stays with the agent when nobody is on the line', async () => {
    const { inbox, said } = setUp();

    expect(await inbox.take({ chatId: 'bob', content: 'Hello', kind: 'final' })).toEqual({
      handled: 'kept',
      media: 0,
    });
    expect(said).toEqual([]);
  });
});
