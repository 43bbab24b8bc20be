import { describe, expect, it } from 'vitest';
import {
  BusDelegate,
  type InboundBus,
  isInboundBus,
  MAX_PENDING_REQUESTS,
  REQUEST_MARK,
} from '../../src/channel/bus-delegate.ts';
import type { AgentRequest } from '../../src/gateway/index.ts';
import { calls, createLoop, says } from '../host/loop/harness.ts';

const request = (text: string, signal = new AbortController().signal): AgentRequest => ({
  sessionKey: 'realtime:c1',
  channel: 'realtime',
  chatId: 'c1',
  text,
  signal,
});

/** A bus that keeps what it is given. */
function recordingBus(): InboundBus & { messages: { content: string; metadata: Record<string, unknown> }[] } {
  const messages: { content: string; metadata: Record<string, unknown> }[] = [];
  return {
    messages,
    publishInbound: ({ content, metadata }) => void messages.push({ content, metadata: { ...metadata } }),
  };
}

/** What the manager does with the answers: each goes to the channel's `send`. */
async function deliverNext(host: ReturnType<typeof createLoop>, delegate: BusDelegate): Promise<boolean> {
  const message = await host.bus.consumeOutbound();
  return message !== null && delegate.deliver(message);
}

describe('a request for the agent over the bus', () => {
  it('is a whole text turn of the caller’s session, with its tools, and the answer comes back', async () => {
    const host = createLoop([calls(['read_file', '{"path":"plan.txt"}']), says('Paint the kitchen.')], {
      files: { 'plan.txt': 'Paint the kitchen in June.' },
    });
    host.loop.start();
    const delegate = new BusDelegate(host.bus);

    const answer = delegate.ask(request('What is my plan?'));
    expect(await deliverNext(host, delegate)).toBe(true);

    expect(await answer).toEqual({ text: 'Paint the kitchen.', isError: false });
    const { rows } = await host.sessions.get('realtime:c1');
    expect(rows.map((row) => row.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(delegate.pendingCount).toBe(0);
    await host.loop.stop();
  });

  it('is stopped when the caller moves on, and nothing of it is heard', async () => {
    const begun = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const host = createLoop([
      (signal) =>
        new Promise((_, reject) => {
          begun.resolve();
          signal.addEventListener('abort', () => {
            stopped.resolve();
            reject(signal.reason);
          });
        }),
    ]);
    host.loop.start();
    const delegate = new BusDelegate(host.bus);
    const abort = new AbortController();
    const answer = delegate.ask(request('Plan my year.', abort.signal));
    await begun.promise;

    abort.abort();

    expect(await answer).toMatchObject({ isError: true });
    await stopped.promise;
    // "Stopped." is an answer to `/stop`, and not for the caller.
    expect(await deliverNext(host, delegate)).toBe(true);
    await host.loop.stop();
  });

  it('takes no message that is for the caller, and drops what nobody waits for any more', () => {
    const delegate = new BusDelegate(recordingBus());

    expect(delegate.deliver({ content: 'Your parcel is here.' })).toBe(false);
    expect(delegate.deliver({ content: 'late', metadata: { [REQUEST_MARK]: 'unknown' } })).toBe(true);
  });

  it('passes on what the agent says in between', async () => {
    const bus = recordingBus();
    const delegate = new BusDelegate(bus);
    const heard: string[] = [];
    const answer = delegate.ask({ ...request('x'), onProgress: (text) => heard.push(text) });
    const { metadata } = bus.messages[0]!;

    delegate.deliver({ content: 'Searching the web', metadata: { ...metadata, _progress: true } });
    delegate.deliver({ content: 'Found it.', metadata });

    expect(heard).toEqual(['Searching the web']);
    expect(await answer).toEqual({ text: 'Found it.', isError: false });
  });

  it('fails as an answer when the bus is full, now or later', async () => {
    const full = new BusDelegate({
      publishInbound: () => {
        throw new Error('full');
      },
    });
    const later = new BusDelegate({ publishInbound: () => Promise.reject(new Error('gone')) });

    expect(await full.ask(request('x'))).toMatchObject({ isError: true });
    expect(await later.ask(request('x'))).toMatchObject({ isError: true });
    expect([full.pendingCount, later.pendingCount]).toEqual([0, 0]);
  });

  it('is one of a bounded number', async () => {
    const delegate = new BusDelegate(recordingBus());
    for (let i = 0; i < MAX_PENDING_REQUESTS; i++) void delegate.ask(request('x'));

    expect(await delegate.ask(request('one more'))).toMatchObject({ isError: true });
    expect(delegate.pendingCount).toBe(MAX_PENDING_REQUESTS);
  });

  it('needs a bus that takes messages', () => {
    expect([null, undefined, {}, 7].map(isInboundBus)).toEqual([false, false, false, false]);
    expect(isInboundBus(recordingBus())).toBe(true);
  });
});
