import { describe, expect, it } from 'vitest';
import {
  type InboundMessage,
  MAX_QUEUED_MESSAGES,
  MessageBus,
  sessionKeyOf,
} from '../../../src/host/bus/index.ts';

const inbound = (content: string): InboundMessage => ({
  channel: 'realtime',
  senderId: 'someone',
  chatId: 'c1',
  content,
  media: [],
  metadata: {},
});

describe('the message bus', () => {
  it('hands messages on in the order they came, to readers before and after', async () => {
    const bus = new MessageBus();
    const early = [bus.consumeInbound(), bus.consumeInbound()];

    for (const text of ['a', 'b', 'c']) bus.publishInbound(inbound(text));

    const late = await bus.consumeInbound();
    const contents = [...(await Promise.all(early)), late].map((message) => message?.content);
    expect(contents).toEqual(['a', 'b', 'c']);
  });

  it('keeps the two directions apart', async () => {
    const bus = new MessageBus();

    bus.publishOutbound({ channel: 'x', chatId: 'y', content: 'out', media: [], metadata: {} });

    expect(bus.inboundSize).toBe(0);
    expect((await bus.consumeOutbound())?.content).toBe('out');
  });

  it('refuses the message that is one too many, with a code, and takes the next once one is read', async () => {
    const bus = new MessageBus();
    for (let index = 0; index < MAX_QUEUED_MESSAGES; index += 1) bus.publishInbound(inbound(`${index}`));

    expect(() => bus.publishInbound(inbound('over'))).toThrow(
      expect.objectContaining({ code: 'HOST_UNAVAILABLE' }),
    );
    expect((await bus.consumeInbound())?.content).toBe('0');
    expect(() => bus.publishInbound(inbound('fits'))).not.toThrow();
  });

  it('lets a reader go whose signal aborts, without losing a message', async () => {
    const bus = new MessageBus();
    const stop = new AbortController();
    const gone = bus.consumeInbound(stop.signal);

    stop.abort();
    bus.publishInbound(inbound('kept'));

    expect(await gone).toBeNull();
    expect((await bus.consumeInbound())?.content).toBe('kept');
    expect(await bus.consumeInbound(AbortSignal.abort())).toBeNull();
  });

  it('that is closed ends its readers once it is empty and refuses new messages', async () => {
    const bus = new MessageBus();
    const waiting = bus.consumeOutbound();
    bus.publishInbound(inbound('left'));

    bus.close();

    expect(await waiting).toBeNull();
    expect((await bus.consumeInbound())?.content).toBe('left');
    expect(await bus.consumeInbound()).toBeNull();
    expect(() => bus.publishInbound(inbound('late'))).toThrow(/closed/);
  });
});

describe('the session key of a message', () => {
  it('is channel and chat, or the key that overrides them', () => {
    expect(sessionKeyOf(inbound('x'))).toBe('realtime:c1');
    expect(sessionKeyOf({ ...inbound('x'), sessionKeyOverride: 'unified:default' })).toBe('unified:default');
  });
});
