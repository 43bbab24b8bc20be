/**
 * From the caller's real input to the tool that ran: a carrier's messages, a model's events, the whole call in between, the
 * real host with its loop and registry, the real store, recogniser and gate.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ApprovalSystem, createApprovals } from '../../src/approval/index.ts';
import { encodeG711, loadAudio, resample } from '../../src/audio/index.ts';
import { CallDesk, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import { BusDelegate } from '../../src/channel/bus-delegate.ts';
import type { RealtimeConfigInput } from '../../src/config.ts';
import { createToolGatewayFacade } from '../../src/gateway/index.ts';
import { createEmbeddedHost, type EmbeddedHost, loadConfig, toolText } from '../../src/host/index.ts';
import { acceptTwilioStream, TWILIO_CAPABILITIES, TwilioLeg } from '../../src/leg/twilio/index.ts';
import { createOpenAiModelFactory } from '../../src/model/openai/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { createRecogniser, createSynthesiser, type Recogniser } from '../../src/speech/index.ts';
import { type FullStore, openStore } from '../../src/store/index.ts';
import { call, FakeCarrier, FakeClock, FakeModel, say, tone } from '../../src/testing/index.ts';

const GATE = {
  requireApproval: ['delete_*'],
  defaultMode: 'inline' as const,
  approvers: [{ name: 'anna', pin: '482913', senders: ['telegram:77'] }],
};
const ASK = encodeG711(tone(900, 300, 8000).samples, 'pcmu');

let recogniser: Recogniser;
const spoken = new Map<string, Uint8Array>();

beforeAll(async () => {
  await loadAudio();
  recogniser = createRecogniser({ locale: 'en-us' });
  const caller = createSynthesiser({ locale: 'en-us', voice: 'rms' });
  for (const text of ['approve one zero', 'no', 'yes', 'approve two three', 'wait what does that do']) {
    const { samples } = await caller.synthesise(text);
    spoken.set(text, encodeG711(resample(samples, 16_000, 8000), 'pcmu'));
  }
  await caller.close();
});
afterAll(() => recogniser.close());

interface Setup {
  readonly strength?: 'authenticated' | 'claimed';
  readonly toolGate?: NonNullable<NonNullable<RealtimeConfigInput['approvals']>['toolGate']>;
  /** The voice model hands the whole request to the agent behind. */
  readonly delegates?: boolean;
}

async function setUp({ strength = 'authenticated', toolGate = GATE, delegates = false }: Setup = {}) {
  const home = mkdtempSync(join(tmpdir(), 'approvals-e2e-'));
  const workspace = join(home, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'report.txt'), 'numbers');
  const path = join(home, 'config.json');
  writeFileSync(
    path,
    JSON.stringify({
      agents: { defaults: { workspace, ...(delegates && { model: 'local' }) } },
      ...(delegates && { providers: { custom: { apiBase: 'http://127.0.0.1:9/v1' } } }),
      channels: {
        realtime: {
          approvals: { tool_gate: toolGate },
          ...(delegates && { tools: { mode: 'delegate' as const } }),
        },
      },
    }),
  );
  const config = await loadConfig({ path });
  const clock = new FakeClock();
  const synthesiser = createSynthesiser({ locale: 'en-us' });
  const store: FullStore = await openStore({ engine: 'sqlite', file: join(home, 'realtime.db') });
  const approvals = createApprovals({
    config: config.realtime.approvals,
    store,
    clock,
    logger: silentLogger,
    dataDirectory: config.host.dataDir,
    locale: 'en-us',
    toolTimeoutMs: 60_000,
    executor: 'local',
    recogniser,
    random: () => 0,
  }) as ApprovalSystem;
  const host: EmbeddedHost = await createEmbeddedHost({
    config,
    store,
    clock,
    logger: silentLogger,
    approvals,
    // The agent behind: deletes the report, and says what it was told.
    chatFetch: async (_url, { body }) => {
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
      const last = messages.at(-1)!;
      const remove = {
        id: 'text-1',
        function: { name: 'delete_file', arguments: '{"path":"report.txt"}' },
      };
      const message =
        last.role === 'tool' ? { content: last.content } : { content: null, tool_calls: [remove] };
      return new Response(JSON.stringify({ choices: [{ message }] }));
    },
  });
  const delegate = delegates ? new BusDelegate(host.bus) : null;
  // What the manager does with messages for the voice channel.
  const deliver = async () => {
    for (;;) {
      const message = await host.bus.consumeOutbound();
      if (message === null) return;
      delegate?.deliver(message);
    }
  };
  if (delegate) void deliver();
  host.registry.register({
    name: 'delete_file',
    description: 'Deletes a file of the workspace.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    execute: async ({ path: name }) => {
      unlinkSync(join(workspace, String(name)));
      return toolText(`Deleted ${String(name)}.`);
    },
  });
  await approvals.start({
    gateway: host.gateway,
    message: ({ channel, chatId }, content) => {
      host.bus.publishOutbound({ channel, chatId, content, media: [], metadata: {} });
      return true;
    },
  });
  const fake = new FakeModel({ clock }).onTurn((turn) => {
    if (turn.trigger === 'speech')
      return [
        delegates
          ? call('ask_agent', { request: 'Delete the report.' })
          : call('delete_file', { path: 'report.txt' }),
      ];
    if (turn.toolOutputs.length > 0) return [say('One moment.', { durationMs: 600 })];
    return turn.index === 0 ? [say('Hello.', { durationMs: 600 })] : [say('I see.', { durationMs: 600 })];
  });
  const { realtime } = config;
  const desk = new CallDesk({
    config: realtime,
    clock,
    logger: silentLogger,
    models: createOpenAiModelFactory({
      config: realtime.model,
      apiKey: 'k',
      clock,
      openSocket: fake.openSocket,
    }),
    synthesiser,
    store,
    prompts: await loadPrompts('en-us'),
    channel: 'realtime',
    gateway: createToolGatewayFacade(host.gateway, { channel: 'realtime' }),
    persona: 'You are Nano.',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
    approvals: approvals.inline,
    delegate,
  });
  const { callId } = await clock.drive(
    desk.admit({
      identity: { strength, id: strength === 'authenticated' ? 'anna' : '+15550100' },
      route: '+15550199',
      carrier: 'twilio',
      carrierCallId: 'CA1',
      leg: TWILIO_CAPABILITIES,
    }),
  );
  const { carrier, socket } = FakeCarrier.inMemory({ clock });
  acceptTwilioStream(socket, clock, {
    started: (start) => desk.attach(callId, new TwilioLeg({ socket, clock, start })),
    failed: (reason) => {
      throw new Error(reason);
    },
  });
  carrier.start();
  const until = async (what: string, holds: () => Promise<boolean> | boolean) => {
    for (let waited = 0; waited < 60_000; waited += 100) {
      if (await holds()) return;
      await carrier.wait(100);
    }
    throw new Error(`Waited in vain for ${what}.`);
  };
  const asked = async () => {
    await carrier.whenAgentSpeaks();
    await carrier.whenAgentIdle(600);
    await carrier.speak(ASK);
    await until('the request', async () => (await record()) !== undefined);
  };
  /** The prompt was heard, and it is quiet. */
  const prompted = async () => {
    await asked();
    await until('the prompt', async () => (await record())?.promptedAt !== null);
    await carrier.whenAgentIdle(1000);
  };
  const became = (status: string) => until(status, async () => (await record())?.status === status);
  const record = async () => (await clock.track(store.listApprovals()))[0];
  const isThere = () => existsSync(join(workspace, 'report.txt'));
  const toModel = () =>
    fake.session.receivedOf('conversation.item.create').flatMap(({ item }) => {
      if (item.type === 'function_call_output') return [item.output];
      return item.type === 'message' ? [JSON.stringify(item.content)] : [];
    });
  const close = async () => {
    carrier.hangup();
    await clock.advance(3000);
    await approvals.close();
    await host.close();
    await store.close();
    await synthesiser.close();
    rmSync(home, { recursive: true, force: true });
  };
  return {
    home,
    config,
    clock,
    approvals,
    host,
    fake,
    desk,
    carrier,
    asked,
    prompted,
    became,
    until,
    record,
    isThere,
    toModel,
    close,
    callId,
    store,
  };
}

type World = Awaited<ReturnType<typeof setUp>>;

/** Whole turns of the caller, on the carrier's line. */
const say2 = (world: World, text: string) => world.carrier.speak(spoken.get(text) as Uint8Array);

describe('a caller’s "delete the report"', { timeout: 60_000 }, () => {
  it('is approved by the drawn digits on the keypad: keys pressed, file gone, model told once', async () => {
    const world = await setUp();
    await world.clock.drive(
      (async () => {
        await world.prompted();
        expect(await world.record()).toMatchObject({
          status: 'pending',
          mode: 'inline',
          promptedAt: expect.any(Number),
        });
        expect(world.isThere()).toBe(true);
        world.carrier.dtmf('1');
        world.carrier.dtmf('0');
        await world.became('executed');
        await world.carrier.wait(4000);
      })(),
    );

    expect(await world.record()).toMatchObject({
      status: 'executed',
      decidedBy: 'anna',
      decidedInput: 'keypad',
    });
    expect(world.isThere()).toBe(false);
    const told = world.toModel();
    expect(told.filter((each) => each.includes('pending_approval'))).toHaveLength(1);
    expect(told.filter((each) => each.includes('was approved and ran once'))).toHaveLength(1);
    // The keys are nobody's but ours.
    expect(told.join()).not.toContain('keys');
    expect(world.fake.violations).toEqual([]);
    world.carrier.assertClean();
    await world.close();
  });

  it('that the agent behind is to do is asked on the very call, and approved by its digits', async () => {
    const world = await setUp({ delegates: true });
    await world.clock.drive(
      (async () => {
        await world.prompted();
        expect(await world.record()).toMatchObject({ mode: 'inline', callId: world.callId });
        expect(world.isThere()).toBe(true);
        world.carrier.dtmf('1');
        world.carrier.dtmf('0');
        await world.became('executed');
        await world.carrier.wait(4000);
      })(),
    );

    expect(await world.record()).toMatchObject({ decidedBy: 'anna', decidedInput: 'keypad' });
    expect(world.isThere()).toBe(false);
    const told = world.toModel();
    expect(told.filter((each) => each.includes('pending_approval'))).toHaveLength(1);
    expect(told.filter((each) => each.includes('was approved and ran once'))).toHaveLength(1);
    expect(world.fake.violations).toEqual([]);
    await world.close();
  });

  it('is refused by voice: "no", and the file is there', async () => {
    const world = await setUp();
    await world.clock.drive(
      (async () => {
        await world.prompted();
        await say2(world, 'no');
        await world.became('denied');
        await world.carrier.wait(4000);
      })(),
    );

    expect(await world.record()).toMatchObject({
      status: 'denied',
      decidedBy: 'anna',
      decidedInput: 'speech',
    });
    expect(world.isThere()).toBe(true);
    expect(world.toModel().filter((each) => each.includes('was denied'))).toHaveLength(1);
    await world.close();
  });

  it('is approved by the spoken challenge, and the model never hears it', async () => {
    const world = await setUp();
    let heardBefore = 0;
    await world.clock.drive(
      (async () => {
        await world.prompted();
        heardBefore = world.fake.session.receivedOf('conversation.item.create').length;
        await say2(world, 'approve one zero');
        await world.became('executed');
        await world.carrier.wait(2000);
      })(),
    );

    expect(await world.record()).toMatchObject({ status: 'executed', decidedInput: 'speech' });
    expect(world.isThere()).toBe(false);
    expect(heardBefore).toBeGreaterThan(0);
    await world.close();
  });

  it('is not approved by "yes", a question or another code; keys still decide after the repetition', async () => {
    const world = await setUp();
    // What was no decision is the model's afterwards, and it may well ask for the same again: the first is ours.
    const first = async () => (await world.clock.track(world.store.listApprovals())).at(-1);
    await world.clock.drive(
      (async () => {
        await world.prompted();
        const heard = () => world.carrier.heardSegments(900).length;
        const before = heard();
        await say2(world, 'yes');
        await world.until('the repetition', () => heard() > before);
        await world.carrier.whenAgentIdle(1200);
        await say2(world, 'approve two three');
        await world.until('the last word', () => heard() > before + 1);
        await world.carrier.whenAgentIdle(1200);
        expect((await first())?.status).toBe('pending');
        expect(world.isThere()).toBe(true);
        // Listening has ended: even the right words are none any more.
        await say2(world, 'approve one zero');
        await world.carrier.wait(3000);
        expect((await first())?.status).toBe('pending');
        world.carrier.dtmf('0');
        world.carrier.dtmf('0');
        await world.became('denied');
        await world.carrier.wait(3000);
      })(),
    );

    expect((await first())?.status).toBe('denied');
    expect(world.isThere()).toBe(true);
    await world.close();
  });

  it('of a caller with a mere number is asked after the PIN', async () => {
    const world = await setUp({ strength: 'claimed' });
    await world.clock.drive(
      (async () => {
        await world.asked();
        await world.carrier.whenAgentSpeaks();
        await world.carrier.whenAgentIdle(1500);
        for (const key of '482913#') world.carrier.dtmf(key);
        await world.until('the prompt', async () => (await world.record())?.promptedAt !== null);
        for (const key of '10') world.carrier.dtmf(key);
        await world.became('executed');
      })(),
    );

    expect(await world.record()).toMatchObject({
      status: 'executed',
      decidedBy: 'anna',
      decidedInput: 'keypad',
    });
    expect(world.isThere()).toBe(false);
    await world.close();
  });

  it('of a caller with a mere number and no PIN is staged, mirrored, and approved by message; the result is spoken of', async () => {
    const world = await setUp({
      strength: 'claimed',
      toolGate: { ...GATE, approvers: [{ name: 'anna', senders: ['telegram:77'] }] },
    });
    await world.clock.drive(world.asked());
    const record = await world.record();
    expect(record).toMatchObject({ status: 'pending', mode: 'deferred' });
    const folder = join(world.config.host.dataDir, 'pending', 'actions');
    await vi.waitFor(() => expect(readdirSync(folder)).toEqual([`${record?.id}.json`]));
    expect(statSync(join(folder, `${record?.id}.json`)).mode & 0o777).toBe(0o600);
    // Editing the file decides nothing.
    const file = join(folder, `${record?.id}.json`);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"pending"', '"approved"'));
    await world.clock.advance(10_000);
    expect(world.isThere()).toBe(true);

    const message = (content: string, senderId = '77') =>
      world.host.bus.publishInbound({
        channel: 'telegram',
        senderId,
        chatId: 'x',
        content,
        media: [],
        metadata: {},
      });
    message(`/approve ${record?.id.slice(0, 8)}`, '78');
    message('yes');
    message(`/approve ${record?.id.slice(0, 8)}`);
    await world.clock.advance(5000);

    expect(await world.record()).toMatchObject({
      status: 'executed',
      decidedBy: 'anna',
      decidedInput: 'message',
    });
    expect(world.isThere()).toBe(false);
    expect(world.toModel().filter((each) => each.includes('was approved and ran once'))).toHaveLength(1);
    await vi.waitFor(() => expect(readdirSync(folder)).toEqual([]));
    const answers: string[] = [];
    while (world.host.bus.outboundSize > 0)
      answers.push((await world.host.bus.consumeOutbound())?.content ?? '');
    expect(answers[0]).toContain('not among those');
    expect(answers.some((each) => each.startsWith('Approved: delete_file'))).toBe(true);
    await world.close();
  });

  it('is nobody’s any more when the caller hangs up: nothing ran', async () => {
    const world = await setUp();
    await world.clock.drive(world.prompted());
    world.carrier.hangup();
    await world.clock.advance(3000);

    expect(await world.record()).toMatchObject({ status: 'cancelled' });
    expect(world.isThere()).toBe(true);
    expect(world.desk.activeCalls).toBe(0);
    expect(world.approvals.inline.size).toBe(0);
    await world.close();
  });
});

describe('the host', () => {
  it('does not start beside a gate that it was not given', async () => {
    const world = await setUp();
    await expect(
      createEmbeddedHost({
        config: world.config,
        store: world.store,
        clock: world.clock,
        logger: silentLogger,
      }),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await world.close();
  });

  it('does not start with exec beside a gate, unless "unsafe" is written', async () => {
    const world = await setUp();
    const { config, store, clock, approvals } = world;
    const exec = { ...config.host.tools.exec, enable: true };
    const withExec = { ...config, host: { ...config.host, tools: { ...config.host.tools, exec } } };
    await expect(
      createEmbeddedHost({ config: withExec, store, clock, logger: silentLogger, approvals }),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('unsafe') });
    const toolGate = { ...config.realtime.approvals.toolGate, unsafe: true };
    const unsafe = {
      ...withExec,
      realtime: { ...config.realtime, approvals: { ...config.realtime.approvals, toolGate } },
    };
    const host = await createEmbeddedHost({ config: unsafe, store, clock, logger: silentLogger, approvals });
    await host.close();
    await world.close();
  });

  it('keeps policy, store, mirror and secret from every tool', async () => {
    const world = await setUp();
    for (const path of [
      world.config.path,
      join(world.config.host.dataDir, 'operator.json'),
      join(world.config.host.dataDir, 'pending', 'actions', 'x.json'),
    ]) {
      for (const [tool, args] of [
        ['read_file', { path }],
        ['write_file', { path, content: '{}' }],
      ] as const) {
        const result = await world.clock.drive(
          world.host.gateway.executeTool('s:1', tool, args, { channel: 's' }),
        );
        expect(result.isError, `${tool} ${path}`).toBe(true);
      }
    }
    await world.close();
  });
});
