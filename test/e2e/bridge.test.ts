/**
 * `nanobot-realtime bridge` in a process of its own: a double of the host on its pipes, a carrier's call on one side, a
 * model on the other.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { output } from '../bridge/host-double.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { BridgeProcess } from './bridge-process.ts';

const AUTH_TOKEN = 'e2e-auth-token';
const API_KEY = 'e2e-api-key';

let bridge: BridgeProcess;
afterEach(() => bridge.remove());

describe('a call through another agent’s process', () => {
  const model = new FakeModel({ apiKey: API_KEY });
  let baseUrl = '';
  let turn: Parameters<FakeModel['onTurn']>[0] = () => [];

  beforeAll(async () => {
    model.onTurn((each) => turn(each));
    baseUrl = await model.listen();
  });
  afterAll(() => model.close());
  beforeEach(() => {
    bridge = new BridgeProcess({ TWILIO_AUTH_TOKEN: AUTH_TOKEN, OPENAI_API_KEY: API_KEY });
    bridge.host.offer('read_file', 'delete_file');
  });

  async function start(config: object = {}, more: Parameters<BridgeProcess['initialize']>[1] = {}) {
    const own = {
      model: { provider: 'openai-compatible', baseUrl, apiKey: API_KEY },
      carriers: { twilio: {} },
    };
    const answer = await bridge.initialize({ ...own, greeting: '', ...config }, more);
    if (!answer.result) throw new Error(JSON.stringify(answer.error));
    return answer.result;
  }

  function phone(url: unknown, callSid: string, frames = 260) {
    const audioFile = join(bridge.folder, 'caller.ulaw');
    writeFileSync(audioFile, encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
    return placeOutsideCall({ url: String(url), authToken: AUTH_TOKEN, audioFile, frames, callSid });
  }

  const outputs = () =>
    model.session
      .receivedOf('conversation.item.create')
      .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));
  const toolNames = () =>
    model.session
      .receivedOf('session.update')
      .map(({ session }) => (session.tools ?? []).map((tool) => ('name' in tool ? tool.name : tool.type)));

  it('runs a function call with the host’s tool, and writes what was said and heard into the host’s session', async () => {
    const { host } = bridge;
    turn = ({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('It says paint the kitchen.', { durationMs: 900 })];
      return trigger === 'speech' ? [call('read_file', { path: 'plan.txt' })] : [];
    };
    model.willHear('What is in my plan?');
    host.answers['tools/execute'] = () => output('Paint the kitchen.');
    host.answers.history = () => ({ result: { items: [{ role: 'user', text: 'My name is Ada.' }] } });
    const { address } = await start();

    const [heard] = await Promise.all([
      phone(address, 'CA01'),
      host
        .until(() => host.executions.size > 0)
        .then(() => {
          host.offer('read_file', 'mcp_home_lights');
          host.tell('tools/changed');
        }),
    ]);
    await host.until(() => [...host.sessions.values()].some(({ rows }) => rows.at(-1)?.role === 'assistant'));

    expect(heard.upgradeStatus).toBe(101);
    expect(heard.heardBytes).toBeGreaterThan(6000);
    expect([...host.executions.values()]).toMatchObject([{ name: 'read_file', channel: 'realtime' }]);
    expect(JSON.parse(String([...host.executions.values()][0]?.arguments))).toEqual({ path: 'plan.txt' });
    expect(outputs()).toEqual(['Paint the kitchen.']);
    expect(toolNames().at(0)).toContain('delete_file');
    expect(toolNames().at(-1)).toContain('mcp_home_lights');
    const [[key, { rows, keys }] = ['', { rows: [], keys: [] }]] = host.sessions;
    expect(key).toMatch(/^realtime:[0-9a-f]{32}$/);
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'What is in my plan?'],
      ['assistant', null],
      ['tool', 'Paint the kitchen.'],
      ['assistant', 'It says paint the kitchen.'],
    ]);
    expect(new Set(keys).size).toBe(keys.length);
    expect(model.violations).toEqual([]);
    expect((await host.ask('shutdown', { drainMs: 0 })).result).toEqual({});
    expect(await bridge.exit).toBe(0);
    expect(host.faults).toEqual([]);
  });

  it('asks the agent over the bus, and the caller hears the streamed answer; nothing of it is written twice', async () => {
    const { host } = bridge;
    turn = ({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('Here is what I found.', { durationMs: 600 })];
      return trigger === 'speech' ? [call('ask_agent', { request: 'Where is the key?' })] : [];
    };
    host.answers.inbound = ({ chatId, metadata }) => {
      host.tell('delta', {
        chatId,
        text: 'Let me look.',
        streamId: 's:1:0',
        end: true,
        resuming: true,
        metadata,
      });
      host.tell('delta', { chatId, text: 'Under the ', streamId: 's:1:1', metadata });
      host.tell('delta', { chatId, text: 'pot.', streamId: 's:1:1', end: true, metadata });
      return { result: {} };
    };
    const { address } = await start({ tools: { mode: 'delegate' } });

    await phone(address, 'CA02', 200);

    expect(host.paramsOf('inbound')).toMatchObject([
      { text: 'Where is the key?', metadata: { realtime_request: expect.any(String) } },
    ]);
    expect(outputs()).toEqual(['Under the pot.']);
    expect(toolNames()[0]).toEqual(['ask_agent', 'stop_working', 'end_call']);
    await host.ask('shutdown', { drainMs: 0 });
    expect(await bridge.exit).toBe(0);
    expect(host.paramsOf('session/append')).toEqual([]);
    expect(host.faults).toEqual([]);
  });

  it('speaks what the agent sends to the caller’s chat, and no progress', async () => {
    const { host } = bridge;
    turn = () => [];
    const { address } = await start();
    const calling = phone(address, 'CA03', 150);
    await host.until(() => host.paramsOf('history').length > 0);
    const chatId = String(host.paramsOf('history')[0]?.sessionKey.slice('realtime:'.length));
    const say_ = (content: string, kind: string) => host.ask('outbound', { chatId, content, kind });

    let handled: unknown = 'kept';
    while (handled === 'kept') handled = (await say_('Your parcel has arrived.', 'final')).result?.handled;
    const progress = await say_('Searching…', 'progress');
    const elsewhere = await host.ask('outbound', { chatId: 'nobody', content: 'x', kind: 'final' });

    expect([handled, progress.result?.handled, elsewhere.result?.handled]).toEqual([
      'spoken',
      'dropped',
      'kept',
    ]);
    expect((await calling).heardBytes).toBeGreaterThan(8000);
  });

  it('ends the call, answers its tool and leaves nothing behind when the host is gone', async () => {
    const { host } = bridge;
    host.answers['tools/execute'] = () => 'never';
    turn = ({ trigger }) => (trigger === 'speech' ? [call('read_file', { path: 'a.txt' })] : []);
    const { address } = await start();
    const calling = phone(address, 'CA06', 600);
    await host.until(() => host.executions.size > 0);

    bridge.child.stdin?.end();

    expect(await bridge.exit).toBe(0);
    expect((await calling).upgradeStatus).toBe(101);
    expect(host.cancelled).toEqual([]);
  });

  it('asks the gate from inside of the host’s tool; approved elsewhere it runs once, by the host', async () => {
    const { host } = bridge;
    const ran: unknown[] = [];
    // What Python does at level full: the wrapped `execute` asks before it runs.
    host.answers['tools/execute'] = async ({
      executionId,
      name,
      arguments: args,
      sessionKey,
      channel,
      chatId,
    }) => {
      const parsed = typeof args === 'string' ? JSON.parse(args) : args;
      const asked = { executionId, sessionKey, channel, chatId, name, arguments: parsed };
      const first = (await host.ask('gate/check', asked)).result;
      if (first?.run !== true) return output(first?.output, Boolean(first?.isError));
      ran.push(parsed);
      const again = (await host.ask('gate/check', asked)).result;
      return output(`ran; again: ${String(again?.run)}`);
    };
    turn = ({ trigger }) => (trigger === 'speech' ? [call('delete_file', { path: 'a.txt' })] : []);
    const result = await start(
      {
        approvals: {
          toolGate: {
            requireApproval: ['delete_*'],
            approvers: [{ name: 'anna', senders: ['telegram:77'] }],
            deferred: { card: { notify: ['telegram:77'] } },
          },
        },
        tools: { mode: 'both' },
      },
      { gate: true },
    );
    expect(result).toMatchObject({ gate: true, operatorToken: expect.any(String) });

    await phone(result.address, 'CA04', 180);
    expect(ran).toEqual([]);
    const id = /[0-9a-f]{32}/.exec(outputs()[0] ?? '')?.[0];
    await host.until(() => host.paramsOf('message/send').length > 0);
    const [card] = host.paramsOf('message/send');
    expect(card).toMatchObject({ channel: 'telegram', chatId: '77', media: [] });
    expect(card?.content).toMatch(new RegExp(`^/approve .*\n${String(result.address)}/operator$`, 'm'));

    const stranger = await host.ask('approvals/decide', {
      channel: 'telegram',
      senderId: '66',
      chatId: '66',
      content: `/approve ${id}`,
    });
    expect(ran).toEqual([]);
    const anna = await host.ask('approvals/decide', {
      channel: 'telegram',
      senderId: '77',
      chatId: '77',
      content: `/approve ${id}`,
    });
    await host.until(() => ran.length > 0);
    await host.until(() => host.executions.size === 2);

    expect([typeof stranger.result?.reply, typeof anna.result?.reply]).toEqual(['string', 'string']);
    expect(ran).toEqual([{ path: 'a.txt' }]);
    const [byVoice, approved] = [...host.executions.values()];
    expect([byVoice?.senderId, approved?.senderId]).toEqual([byVoice?.chatId, undefined]);
    expect(approved).toMatchObject({ name: 'delete_file', arguments: { path: 'a.txt' } });
    expect(
      (
        await host.ask('approvals/decide', {
          channel: 'telegram',
          senderId: '77',
          chatId: '77',
          content: 'hello',
        })
      ).result,
    ).toEqual({ reply: null });
    await host.ask('shutdown');
    expect(await bridge.exit).toBe(0);
    expect(ran).toHaveLength(1);
    expect(host.faults).toEqual([]);
  });

  it('meets the gate in the agent’s own turn, and knows the call that asked', async () => {
    const { host } = bridge;
    turn = ({ trigger, toolOutputs }) =>
      toolOutputs.length > 0
        ? []
        : trigger === 'speech'
          ? [call('ask_agent', { request: 'Delete a.txt.' })]
          : [];
    const verdicts: unknown[] = [];
    host.answers.inbound = ({ chatId, sessionKey, metadata }) => {
      const asked = {
        sessionKey,
        channel: 'realtime',
        chatId,
        name: 'delete_file',
        arguments: { path: 'a.txt' },
        request: metadata.realtime_request,
      };
      void host.ask('gate/check', asked).then(({ result }) => {
        verdicts.push(result);
        host.tell('delta', { chatId, text: 'It waits for a person.', end: true, metadata });
      });
      return { result: {} };
    };
    const { address } = await start(
      { approvals: { toolGate: { requireApproval: ['delete_*'] } }, tools: { mode: 'delegate' } },
      { gate: true },
    );

    await phone(address, 'CA05', 180);

    expect(verdicts).toEqual([
      { run: false, isError: false, output: expect.stringContaining('delete_file') },
    ]);
    expect(host.executions.size).toBe(0);
    expect(outputs()).toEqual(['It waits for a person.']);
    const shown = readFileSync(join(bridge.dataDir, 'realtime.db'));
    expect(shown.length).toBeGreaterThan(0);
  });
});

describe('the bridge’s process', () => {
  beforeEach(() => {
    bridge = new BridgeProcess();
  });
  const states = () =>
    bridge.host.seen.flatMap(({ method, params }) => (method === 'status' ? [params.state] : []));

  it('answers pings, refuses garbage and other versions, and starts once; a SIGTERM ends it', async () => {
    const { host } = bridge;
    host.raw('}{');
    host.raw('[]');
    expect((await host.ask('ping')).result).toEqual({});
    const early = { sessionKey: '', channel: '', chatId: '', name: 'x', arguments: {} };
    expect((await host.ask('gate/check', early)).error?.code).toBe(-32002);

    const refused = await bridge.initialize({}, { protocol: 2 });
    const accepted = await bridge.initialize({});
    const again = await bridge.initialize({});
    bridge.child.kill('SIGTERM');

    expect(refused.error).toMatchObject({ code: -32001, data: { supported: [1] } });
    expect(accepted.result).toMatchObject({
      protocol: 1,
      name: 'nanobot-channel-realtime',
      pid: bridge.child.pid,
      gate: false,
    });
    expect(again.error?.code).toBe(-32002);
    expect(await bridge.exit).toBe(0);
    expect(states()).toEqual(['starting', 'ready', 'draining', 'stopped']);
    expect(host.seen.filter(({ method }) => method === 'error')).toHaveLength(2);
    expect(host.faults).toEqual([]);
  });

  it('says what is wrong with the config, line by line, and ends with 1', async () => {
    const { error } = await bridge.initialize({ greting: 'x', limits: { maxCalls: 'many' } });

    expect(error).toMatchObject({ code: -32010, data: { code: 'CONFIG_INVALID' } });
    for (const key of ['greting', 'limits.maxCalls'])
      expect(error?.message).toContain(`channels.realtime.${key}`);
    expect(await bridge.exit).toBe(1);
  });

  it('ends with 0 when its input ends before it was started', async () => {
    bridge.child.stdin?.end();

    expect(await bridge.exit).toBe(0);
  });

  it('ends at once on a second SIGTERM', async () => {
    // An initialize whose tools are never listed: it stands in the middle of its start.
    bridge.host.answers['tools/list'] = () => 'never';
    // It gets no answer: the process ends first.
    bridge.initialize({}).catch(() => {});
    await bridge.host.until(() => bridge.host.paramsOf('tools/list').length > 0);
    bridge.child.kill('SIGTERM');
    await bridge.host.until(() => states().includes('draining'));
    bridge.child.kill('SIGTERM');

    expect(await bridge.exit).toBe(1);
  });

  it('keeps what else writes to standard output out of the protocol; two shutdowns at once are both answered', async () => {
    bridge.remove();
    const noise = 'console.log("noise"); process.stdout.write("more noise\\n")';
    const worker = `import("node:worker_threads").then(({ Worker }) => new Worker(${JSON.stringify(noise)}, { eval: true }))`;
    const code = `process.on("SIGUSR2", () => { ${noise}; ${worker} })`;
    bridge = new BridgeProcess({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` });
    await bridge.initialize({});

    bridge.child.kill('SIGUSR2');
    // Twice from the process itself, twice from its worker.
    const noises = () => bridge.stderr.match(/noise/g)?.length ?? 0;
    while (noises() < 4) await bridge.host.ask('ping');

    const [first, second] = await Promise.all([bridge.host.ask('shutdown'), bridge.host.ask('shutdown')]);
    expect([first.result, second.result]).toEqual([{}, {}]);
    expect(await bridge.exit).toBe(0);
    expect(bridge.host.faults).toEqual([]);
  });
});
