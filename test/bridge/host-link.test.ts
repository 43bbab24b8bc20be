import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostLink } from '../../src/bridge/host-link.ts';
import { MAX_REMEMBERED_REQUESTS, RemoteBus } from '../../src/bridge/remote-bus.ts';
import { BusDelegate } from '../../src/channel/bus-delegate.ts';
import { type Initialize, RPC, RpcPeer } from '../../src/gateway/remote/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { HostDouble } from './host-double.ts';
import { crossedStreams, settle } from './wire.ts';

const CALL_ID = '0123456789abcdef0123456789abcdef';

const init = (unifiedSession: boolean): Initialize => ({
  protocol: 1,
  config: {},
  workspace: '/w',
  dataDir: '/d',
  channel: 'realtime',
  host: { name: 'nanobot', version: '0', unifiedSession },
  toolAccess: { requested: 'full', level: 'full', gate: false },
});

describe('what the channel asks of its host', () => {
  let clock: FakeClock;
  let host: HostDouble;
  let peer: RpcPeer;
  beforeEach(() => {
    clock = new FakeClock();
    const streams = crossedStreams();
    host = new HostDouble(streams.host);
    peer = new RpcPeer({ ...streams.node, clock });
    peer.listen();
  });
  afterEach(() => {
    peer.close();
    expect(host.faults).toEqual([]);
  });

  it('names a person’s own session as the host does, and never a stranger’s call', () => {
    const one = new HostLink(peer, init(true));
    const own = new HostLink(peer, init(false));

    expect([one.hostKey('realtime:ada'), own.hostKey('realtime:ada')]).toEqual([
      'unified:default',
      'realtime:ada',
    ]);
    expect(one.hostKey(`realtime:${CALL_ID}`)).toBe(`realtime:${CALL_ID}`);
    expect(one.hostKey('telegram:7')).toBe('telegram:7');
  });

  it('reads a unified session’s past, and appends to it', async () => {
    const link = new HostLink(peer, init(true));
    host.answers.history = () => ({
      result: {
        items: [
          { role: 'user', text: 'a' },
          { role: 'assistant', text: 'b' },
        ],
      },
    });

    const items = await link.history('realtime:ada', 1);
    await link.append('realtime:ada', 'k', [
      { role: 'user', content: 'x', timestamp: '2026-01-15T10:00:00.000Z', source: 'voice', voice_turn: 'k' },
    ]);

    expect(items).toEqual([{ role: 'assistant', text: 'b' }]);
    expect([...host.sessions.keys()]).toEqual(['unified:default']);
    expect(await link.history('realtime:ada', 0)).toEqual([]);
  });

  it('sends messages with files to the host’s other channels', async () => {
    const link = new HostLink(peer, init(false));
    const message = {
      channel: 'telegram',
      chatId: '7',
      content: 'A chart.',
      media: ['/d/outgoing/chart.png'],
      metadata: {},
    };

    await link.send(message);
    host.answers['message/send'] = () => ({ error: { code: RPC.notPossible, message: 'no such channel' } });

    expect(host.paramsOf('message/send')).toEqual([message]);
    await expect(link.send(message)).rejects.toMatchObject({ code: RPC.notPossible });
  });

  it('lets nobody in whom the host does not name, and nobody when it says nothing', async () => {
    const link = new HostLink(peer, init(false));
    host.answers.allowed = ({ senderId }) => ({ result: { allowed: senderId === '+15550100' } });
    expect(await Promise.all([link.isAllowed('+15550100'), link.isAllowed('')])).toEqual([true, false]);

    host.answers.allowed = () => ({ error: { code: RPC.internal, message: 'x' } });
    expect(await link.isAllowed('+15550100')).toBe(false);
  });

  it('asks the agent, stops it when the caller moves on, and gives up when the host does not take it', async () => {
    const link = new HostLink(peer, init(true));
    const delegate = new BusDelegate(new RemoteBus(link));
    const abort = new AbortController();
    const request = {
      sessionKey: 'realtime:ada',
      channel: 'realtime',
      chatId: 'ada',
      text: 'Plan my year.',
      signal: abort.signal,
    };

    const answer = delegate.ask(request);
    await settle();
    abort.abort();

    expect(await answer).toMatchObject({ isError: true });
    await settle();
    expect(host.paramsOf('inbound')).toMatchObject([
      { sessionKey: 'unified:default', chatId: 'ada', text: 'Plan my year.' },
    ]);
    expect(host.paramsOf('stop')).toEqual([
      { sessionKey: 'unified:default', chatId: 'ada', senderId: 'ada' },
    ]);

    host.answers.inbound = () => ({ error: { code: RPC.refused, message: 'no' } });
    expect(await delegate.ask({ ...request, signal: new AbortController().signal })).toMatchObject({
      isError: true,
    });
    expect(delegate.pendingCount).toBe(0);
  });

  it('knows the call behind a request for as long as it is waited for, and of no other', async () => {
    const bus = new RemoteBus(new HostLink(peer, init(false)));
    const delegate = new BusDelegate(bus);
    const call = { callId: 'c1', toolCallId: 'f1', turn: 2 };
    const answer = delegate.ask({
      sessionKey: 'realtime:ada',
      channel: 'realtime',
      chatId: 'ada',
      text: 'x',
      signal: new AbortController().signal,
      call,
    });
    await settle();
    const [inbound] = host.paramsOf('inbound');
    const mark = String(inbound?.metadata.realtime_request);
    // What the agent does for it later, or after a restart of ours, still names the call.
    expect(inbound?.metadata.realtime_call).toBe('c1');

    expect(bus.callOf(mark)).toEqual({
      ...call,
      channel: 'realtime',
      chatId: 'ada',
      sessionKey: 'realtime:ada',
    });
    expect(bus.callOf('made up')).toBeNull();

    delegate.deliver({ content: 'Done.', metadata: { realtime_request: mark } });
    await answer;
    expect(bus.callOf(mark)).toBeNull();
  });

  it('sets the agent to no work while it may not, but does stop it', async () => {
    let isOpen = false;
    const delegate = new BusDelegate(new RemoteBus(new HostLink(peer, init(false)), () => isOpen));
    const request = { sessionKey: 'realtime:ada', channel: 'realtime', chatId: 'ada', text: 'x' };

    const refused = await delegate.ask({ ...request, signal: new AbortController().signal });
    isOpen = true;
    const abort = new AbortController();
    const asked = delegate.ask({ ...request, signal: abort.signal });
    isOpen = false;
    abort.abort();
    await asked;
    await settle();

    expect(refused.isError).toBe(true);
    expect([host.paramsOf('inbound').length, host.paramsOf('stop').length]).toEqual([1, 1]);
  });

  it('remembers a bounded number of requests', async () => {
    const bus = new RemoteBus(new HostLink(peer, init(false)));
    const send = (mark: string) =>
      bus.publishInbound({
        channel: 'realtime',
        senderId: 'a',
        chatId: 'a',
        content: 'x',
        metadata: { realtime_request: mark },
      });

    await Promise.all(Array.from({ length: MAX_REMEMBERED_REQUESTS + 1 }, (_, index) => send(`m${index}`)));

    expect(bus.remembered).toBe(MAX_REMEMBERED_REQUESTS);
  });
});
