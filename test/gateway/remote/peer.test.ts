import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MAX_OPEN_REQUESTS, RPC, RpcError, RpcPeer } from '../../../src/gateway/remote/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { HostDouble } from '../../bridge/host-double.ts';
import { crossedStreams, settle } from '../../bridge/wire.ts';

const ANYTHING = z.looseObject({});
const ASK = { timeoutMs: 10_000, result: ANYTHING };

describe('one end of the bridge', () => {
  let clock: FakeClock;
  let streams: ReturnType<typeof crossedStreams>;
  let host: HostDouble;
  let peer: RpcPeer;
  let garbage: string[];

  beforeEach(() => {
    clock = new FakeClock();
    streams = crossedStreams();
    host = new HostDouble(streams.host);
    garbage = [];
    peer = new RpcPeer({ ...streams.node, clock, onGarbage: (what) => garbage.push(what) });
    peer.on('echo', z.object({ text: z.string() }), ({ text }) => ({ text }));
    peer.listen();
  });
  afterEach(() => peer.close());

  it('answers requests and asks its own, both at once', async () => {
    const [mine, theirs] = await Promise.all([
      peer.request('ping', {}, ASK),
      host.ask('echo', { text: 'hello' }),
    ]);

    expect([mine, theirs.result]).toEqual([{}, { text: 'hello' }]);
    expect(host.faults).toEqual([]);
  });

  it.each([
    ['what is no JSON', '{"jsonrpc":', RPC.parseError],
    ['a number', '5', RPC.invalidRequest],
    ['null', 'null', RPC.invalidRequest],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"x"}}]', RPC.invalidRequest],
    ['an object of another kind', '{"hello":1}', RPC.invalidRequest],
    ['an id of another kind', '{"jsonrpc":"2.0","id":{},"method":"echo"}', RPC.invalidRequest],
  ])('refuses %s with an error that answers nothing, and goes on', async (_what, line, code) => {
    host.raw(line);
    const { result } = await host.ask('echo', { text: 'still here' });

    expect(host.seen).toEqual([{ method: 'error', params: expect.objectContaining({ code }) }]);
    expect(result).toEqual({ text: 'still here' });
    expect(garbage).toHaveLength(1);
  });

  it('never answers an error that answers nothing, so that two sides do not complain for ever', async () => {
    host.raw('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}');
    host.raw('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}');
    await settle();

    expect(host.seen).toEqual([]);
  });

  it('refuses an unknown method, and names the field of wrong params but not its value', async () => {
    const unknown = await host.ask('nope');
    const wrong = await host.ask('echo', { text: 5551234 });
    const list = await host.ask('echo', ['hello']);

    expect(unknown.error?.code).toBe(RPC.unknownMethod);
    expect(wrong.error).toMatchObject({ code: RPC.invalidParams, message: 'Invalid params of echo: text' });
    expect(list.error?.code).toBe(RPC.invalidParams);
  });

  it('says nothing of what a handler threw', async () => {
    peer.on('bad', ANYTHING, () => {
      throw new Error('sk-secret');
    });

    const { error } = await host.ask('bad');

    expect(error).toEqual({ code: RPC.internal, message: 'Internal error' });
  });

  it('handles notifications in the order they came, whatever a request does meanwhile', async () => {
    const order: string[] = [];
    peer.on('slow', ANYTHING, () => new Promise(() => {}));
    peer.on('note', z.object({ n: z.number() }), ({ n }) => void order.push(`note ${n}`));
    peer.on('begin', ANYTHING, () => void order.push('begin'));

    void host.ask('slow');
    host.tell('note', { n: 1 });
    void host.ask('begin');
    host.tell('note', { n: 2 });
    await settle();

    expect(order).toEqual(['note 1', 'begin', 'note 2']);
  });

  it('gives up a request at its deadline, and drops the answer that comes later', async () => {
    let late: (answer: { result: object }) => void = () => {};
    host.answers.ping = () => new Promise((resolve) => (late = resolve));
    const asked = peer.request('ping', {}, ASK).catch((error: unknown) => error);
    await settle();
    await clock.advance(10_000);

    expect(await asked).toMatchObject({ code: RPC.deadline });
    late({ result: {} });
    await settle();
    expect(peer.openRequests).toBe(0);
  });

  it('does not believe an answer of another shape', async () => {
    host.answers.ping = () => ({ result: { n: 'x' } });

    const asked = peer.request('ping', {}, { timeoutMs: 1000, result: z.object({ n: z.number() }) });

    await expect(asked).rejects.toMatchObject({ code: RPC.internal });
  });

  it('refuses one request more than may be open, on either side', async () => {
    peer.on('hang', ANYTHING, () => new Promise(() => {}));
    host.answers.ping = () => 'never';
    const mine = Array.from({ length: MAX_OPEN_REQUESTS }, () =>
      peer.request('ping', {}, ASK).catch(() => {}),
    );
    for (let count = 0; count < MAX_OPEN_REQUESTS; count++) void host.ask('hang');

    await expect(peer.request('ping', {}, ASK)).rejects.toMatchObject({ code: RPC.busy });
    expect((await host.ask('hang')).error?.code).toBe(RPC.busy);

    peer.close();
    await Promise.all(mine);
  });

  it('fails every open request when the other side is gone, and every later one', async () => {
    host.answers.ping = () => 'never';
    const asked = peer.request('ping', {}, ASK).catch((error: unknown) => error);
    await settle();

    streams.host.output.end();
    await peer.closed;

    expect(await asked).toBeInstanceOf(RpcError);
    await expect(peer.request('ping', {}, ASK)).rejects.toBeInstanceOf(RpcError);
    expect(clock.pendingTimers).toBe(0);
  });

  it('sends megabytes whole, and refuses to send a line that is too long', async () => {
    const text = 'é'.repeat(3_000_000);
    expect((await host.ask('echo', { text })).result).toEqual({ text });

    const small = crossedStreams();
    const other = new HostDouble(small.host);
    const short = new RpcPeer({ ...small.node, clock, maxLineBytes: 200 });
    short.on('long', ANYTHING, () => ({ text: 'x'.repeat(300) }));
    short.listen();

    expect((await other.ask('long')).error?.code).toBe(RPC.notPossible);
    await expect(short.request('ping', { text: 'x'.repeat(300) }, ASK)).rejects.toMatchObject({
      code: RPC.notPossible,
    });
    other.raw('x'.repeat(300));
    await settle();
    expect(other.seen.at(-1)).toMatchObject({ method: 'error', params: { code: RPC.invalidRequest } });
    short.close();
  });

  it('counts a side that does not read as gone', async () => {
    const input = new PassThrough();
    const deaf = new RpcPeer({ input, output: new PassThrough(), clock, maxUnreadBytes: 50_000 });
    deaf.listen();

    for (let count = 0; count < 10; count++) deaf.notify('log', { message: 'x'.repeat(20_000) });
    await deaf.closed;

    expect(deaf.isClosed).toBe(true);
  });
});
