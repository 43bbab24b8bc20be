import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExecuteToolOptions, ToolGate } from '../../../src/gateway/index.ts';
import {
  DEADLINE_GRACE_MS,
  MAX_DEFINITIONS,
  MAX_EXECUTIONS,
  RemoteToolGateway,
  type RemoteToolGatewayOptions,
  RPC,
  RpcPeer,
} from '../../../src/gateway/remote/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { type Answer, HostDouble, output } from '../../bridge/host-double.ts';
import { crossedStreams, settle } from '../../bridge/wire.ts';

const TIMEOUT_MS = 5000;

function setUp(options: Partial<RemoteToolGatewayOptions> = {}) {
  const clock = new FakeClock();
  const streams = crossedStreams();
  const host = new HostDouble(streams.host);
  const peer = new RpcPeer({ ...streams.node, clock });
  peer.listen();
  const gateway = new RemoteToolGateway({
    peer,
    channel: 'realtime',
    timeoutMs: TIMEOUT_MS,
    sessionKey: (key) => key,
    gate: null,
    ...options,
  });
  const call = (name: string, args: unknown = {}, more: Partial<ExecuteToolOptions> = {}) =>
    gateway.executeTool('realtime:alice', name, args, { channel: 'realtime', chatId: 'alice', ...more });
  return { clock, streams, host, peer, gateway, call };
}

describe('the gateway to a remote host', () => {
  let parts: ReturnType<typeof setUp>;
  beforeEach(() => {
    parts = setUp();
  });
  afterEach(() => {
    expect(parts.host.faults).toEqual([]);
    expect(parts.gateway.runningCount).toBe(0);
    parts.peer.close();
    expect(parts.clock.pendingTimers).toBe(0);
  });

  it('shows the host’s tools, in its order, and hears when they change', async () => {
    const { host, gateway } = parts;
    const changes: string[][] = [];
    gateway.onChanged(() => changes.push(gateway.getToolDefinitions().map((each) => each.function.name)));

    host.offer('read_file', 'exec');
    await gateway.refresh();
    await gateway.refresh();
    host.offer('read_file', 'exec', 'mcp_home_lights');
    await Promise.all([gateway.refresh(), gateway.refresh()]);

    expect(changes).toEqual([
      ['read_file', 'exec'],
      ['read_file', 'exec', 'mcp_home_lights'],
    ]);
  });

  it('keeps no more definitions than the bound', async () => {
    parts.host.offer(...Array.from({ length: MAX_DEFINITIONS + 5 }, (_, index) => `tool_${index}`));

    await parts.gateway.refresh();

    expect(parts.gateway.getToolDefinitions()).toHaveLength(MAX_DEFINITIONS);
  });

  it('keeps the last list when the host does not give another', async () => {
    const { host, gateway } = parts;
    host.offer('read_file');
    await gateway.refresh();
    host.answers['tools/list'] = () => ({ result: { definitions: 'what' } });

    await expect(gateway.refresh()).rejects.toMatchObject({ code: RPC.internal });

    expect(gateway.getToolDefinitions()).toHaveLength(1);
  });

  it('hands arguments over as the model wrote them, with who asks and where', async () => {
    const { host, call } = parts;

    await call('read_file', '{"path": "a.txt", broken');
    await call('read_file', { path: 'é', nested: [1, null] });

    expect([...host.executions.values()]).toMatchObject([
      {
        arguments: '{"path": "a.txt", broken',
        sessionKey: 'realtime:alice',
        chatId: 'alice',
        senderId: 'alice',
      },
      { arguments: { path: 'é', nested: [1, null] }, channel: 'realtime', timeoutMs: TIMEOUT_MS },
    ]);
  });

  it('passes text and errors byte for byte', async () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(texts, fc.boolean(), async (text, isError) => {
        parts.host.answers['tools/execute'] = () => output(text, isError);
        expect(await parts.call('exec')).toEqual({ content: text, isError });
      }),
      { numRuns: 200 },
    );
  });

  it('passes blocks on, and of a kind it does not know the JSON', async () => {
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'audio', data: 'x' },
    ];
    parts.host.answers['tools/execute'] = () => output(blocks);

    const { content } = await parts.call('read_file');

    expect(content).toEqual([blocks[0], blocks[1], { type: 'text', text: JSON.stringify(blocks[2]) }]);
  });

  it.each([
    [RPC.refused, 'GATEWAY_TOOL_DENIED: no, thanks'],
    [RPC.deadline, "REQUEST_TIMEOUT: the tool 'exec' did not end in time."],
    [RPC.cancelled, 'the tool was cancelled.'],
    [RPC.busy, 'HOST_UNAVAILABLE: the host is busy; try again.'],
    [RPC.internal, "HOST_UNAVAILABLE: the tool 'exec' could not be run: the host is gone or failed."],
  ])('makes a result of the host’s error %i', async (code, text) => {
    parts.host.answers['tools/execute'] = () => ({ error: { code, message: 'no, thanks' } });

    expect(await parts.call('exec')).toEqual({ content: `Error: ${text}`, isError: true });
  });

  it('cancels at the host what is aborted here, and does not wait for it', async () => {
    const { host, call } = parts;
    host.answers['tools/execute'] = () => 'never';
    const abort = new AbortController();
    const result = call('exec', {}, { signal: abort.signal });
    await settle();

    abort.abort();

    expect((await result).isError).toBe(true);
    await settle();
    expect(host.cancelled).toEqual([...host.executions.keys()]);
    // The request's own deadline is still armed: its answer is dropped when it comes.
    await parts.clock.advance(TIMEOUT_MS + DEADLINE_GRACE_MS);
  });

  it('asks nothing of the host when it was aborted before', async () => {
    const { isError } = await parts.call('exec', {}, { signal: AbortSignal.abort() });

    expect([isError, parts.host.seen]).toEqual([true, []]);
  });

  it('gives up a host that says nothing after the deadline, and cancels', async () => {
    const { host, clock, call } = parts;
    host.answers['tools/execute'] = () => 'never';
    const result = call('exec');
    await settle();
    await clock.advance(TIMEOUT_MS + DEADLINE_GRACE_MS);

    expect(await result).toEqual({
      content: "Error: REQUEST_TIMEOUT: the tool 'exec' did not end in time.",
      isError: true,
    });
    await settle();
    expect(host.cancelled).toHaveLength(1);
  });

  it('gives every running call an output when the host dies, and every later one at once', async () => {
    const { host, streams, call } = parts;
    host.answers['tools/execute'] = () => 'never';
    const running = [call('exec'), call('read_file'), call('spawn')];
    await settle();

    streams.host.output.end();

    const results = [...(await Promise.all(running)), await call('exec')];
    expect(results.map((each) => String(each.content).slice(0, 23))).toEqual(
      Array(4).fill('Error: HOST_UNAVAILABLE'),
    );
  });

  it('refuses one call more than may run', async () => {
    const { host, call, peer } = parts;
    host.answers['tools/execute'] = () => 'never';
    const running = Array.from({ length: MAX_EXECUTIONS }, () => call('exec'));
    await settle();

    expect((await call('exec')).content).toBe('Error: HOST_UNAVAILABLE: too many tools are running.');

    peer.close();
    await Promise.all(running);
  });

  it('refuses the name websocket, and any other that is not its own', async () => {
    for (const channel of ['websocket', 'telegram'])
      expect((await parts.call('exec', {}, { channel })).content).toMatch(/^Error: GATEWAY_CHANNEL_REFUSED/);
    expect(parts.host.seen).toEqual([]);
  });

  it('runs an approved call under the name of the channel it came from, but never as websocket', async () => {
    const { gateway, host } = parts;

    await gateway.executeApproved('telegram:7', 'exec', {}, { channel: 'telegram', chatId: '7' });
    await gateway.executeApproved('websocket:7', 'exec', {}, { channel: 'websocket', chatId: '7' });

    const [first, second] = [...host.executions.values()];
    expect([first?.channel, first?.senderId, second?.channel]).toEqual(['telegram', undefined, 'realtime']);
  });

  it('hears how far a tool has got, and survives a listener that throws', async () => {
    const { host, gateway, call } = parts;
    const heard: string[] = [];
    host.answers['tools/execute'] = async ({ executionId }) => {
      gateway.progress(executionId, 'half');
      gateway.progress('another', 'not ours');
      return output('done');
    };

    const onProgress = (text: string) => {
      heard.push(text);
      throw new Error('x');
    };
    expect((await call('exec', {}, { onProgress })).content).toBe('done');
    expect(heard).toEqual(['half']);
  });
});

describe('a gate in front of a remote host that asks none itself', () => {
  const gate: ToolGate = {
    concerns: (name) => name === 'exec',
    check: async () => ({ run: false, result: { content: 'staged', isError: false } }),
  };

  it('answers in the tool’s place, and the host hears nothing', async () => {
    const { call, host, peer } = setUp({ gate });

    expect(await call('exec')).toEqual({ content: 'staged', isError: false });
    expect(await call('read_file')).toEqual({ content: 'read_file ran', isError: false });
    expect([...host.executions.values()].map(({ name }) => name)).toEqual(['read_file']);
    peer.close();
  });

  it('neither shows nor runs what is hidden', async () => {
    const { call, gateway, host, peer } = setUp({ hidden: new Set(['spawn']) });
    host.offer('spawn', 'exec');
    await gateway.refresh();

    expect(gateway.getToolDefinitions().map((each) => each.function.name)).toEqual(['exec']);
    expect((await call('spawn')).content).toMatch(/^Error: GATEWAY_TOOL_DENIED/);
    expect(host.executions.size).toBe(0);
    peer.close();
  });
});

describe('whatever the host does', () => {
  type Act = 'answer' | 'error' | 'never' | 'late' | 'twice' | 'garbage' | 'nonsense';
  const act = fc.constantFrom<Act>('answer', 'error', 'never', 'late', 'twice', 'garbage', 'nonsense');
  const step = fc.record({ act, abortAfterMs: fc.option(fc.integer({ min: 0, max: 9000 })) });

  it('every call has exactly one output, nothing is held, and no timer is left', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.option(fc.integer({ min: 0, max: 9000 })),
        async (steps, diesAtMs) => {
          const { clock, host, streams, gateway, peer, call } = setUp();
          let index = 0;
          host.answers['tools/execute'] = (): Answer | Promise<Answer> => {
            switch (steps[index++]?.act) {
              case 'answer':
                return output('ok');
              case 'error':
                return { error: { code: RPC.internal, message: 'x' } };
              case 'late':
                return new Promise((resolve) => clock.setTimeout(() => resolve(output('late')), 6999));
              case 'twice':
                host.raw('{"jsonrpc":"2.0","id":1,"result":{"output":"other","isError":false}}');
                return output('ok');
              case 'garbage':
                host.raw('}{');
                return output('ok');
              case 'nonsense':
                return { result: { output: 5 } };
              default:
                return 'never';
            }
          };
          let outputs = 0;
          const calls = steps.map(({ abortAfterMs }) => {
            const abort = new AbortController();
            if (abortAfterMs !== null) clock.setTimeout(() => abort.abort(), abortAfterMs);
            return call('exec', {}, { signal: abort.signal }).then((result) => {
              outputs++;
              expect(typeof result.content).toBe('string');
            });
          });
          if (diesAtMs !== null) clock.setTimeout(() => streams.host.output.destroy(), diesAtMs);

          for (let ms = 0; ms < 10_000; ms += 500) {
            await settle(4);
            await clock.advance(500);
          }
          await Promise.all(calls);

          expect(outputs).toBe(steps.length);
          expect(gateway.runningCount).toBe(0);
          expect(peer.openRequests).toBe(0);
          peer.close();
          expect(clock.pendingTimers).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});
