/** The real server, desk and gate behind a page on loopback; the model is a double, and pages are made of fetch and ws. */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { OperatorSecret } from '../../../src/approval/index.ts';
import { loadAudio } from '../../../src/audio/index.ts';
import { CallDesk, defaultToolPolicy, loadPrompts } from '../../../src/call/index.ts';
import { lineOf } from '../../../src/channel/realtime-channel.ts';
import { realClock } from '../../../src/clock.ts';
import { type RealtimeConfig, type RealtimeConfigInput, realtimeConfigSchema } from '../../../src/config.ts';
import type { ToolGateway } from '../../../src/gateway/index.ts';
import { WorkspacePolicy } from '../../../src/host/guards/workspace-policy.ts';
import { FileStateStore, ToolRegistry } from '../../../src/host/index.ts';
import { ToolRunner } from '../../../src/host/loop/tool-runner.ts';
import { createMediaTools } from '../../../src/host/tools/media/index.ts';
import {
  MessageJoiner,
  type PageCommandInput,
  type PageEvent,
  pageEventSchema,
} from '../../../src/leg/page/index.ts';
import { openWebRtcPeers, type WebRtcPeers } from '../../../src/leg/webrtc/index.ts';
import { Media } from '../../../src/media/index.ts';
import { createOpenAiModelFactory } from '../../../src/model/openai/index.ts';
import { silentLogger } from '../../../src/observe/index.ts';
import { CallRecords, createVoiceServer, type VoiceServer } from '../../../src/server/index.ts';
import { type FullStore, openStore } from '../../../src/store/index.ts';
import { call, FakeModel, say } from '../../../src/testing/index.ts';
import { type RigOptions as GateOptions, rig as gateRig } from '../../approval/rig.ts';
import { testSynthesiser } from '../../call/harness.ts';

type Gate = Awaited<ReturnType<typeof gateRig>>;

export interface PageRigOptions {
  readonly config?: RealtimeConfigInput;
  /** Makes a gate. */
  readonly toolGate?: GateOptions['toolGate'];
  readonly media?: boolean;
  readonly peers?: boolean;
  readonly webDirectory?: string;
}

export interface PageRig {
  readonly config: RealtimeConfig;
  readonly server: VoiceServer;
  readonly desk: CallDesk;
  readonly model: FakeModel;
  readonly gate: Gate | null;
  readonly media: Media | null;
  readonly records: CallRecords;
  readonly peers: WebRtcPeers | null;
  readonly store: FullStore;
  readonly directory: string;
  readonly url: string;
  readonly token: string;
  /** Headers of a logged-in owner's page. */
  owner(): Promise<Record<string, string>>;
  /** A code for a guest. */
  code(body?: object): Promise<string>;
  /** Headers of a guest's page. */
  guest(code?: string): Promise<Record<string, string>>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** A call over the WebSocket, greeted. */
  call(headers: Record<string, string>, options?: { callId?: string; shown?: string[] }): Promise<PageDouble>;
}

const undo: (() => Promise<unknown> | unknown)[] = [];

/** For `afterEach`. */
export async function closePageRigs(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

export async function pageRig(options: PageRigOptions = {}): Promise<PageRig> {
  await loadAudio();
  const directory = mkdtempSync(join(tmpdir(), 'page-'));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const { server: serverInput, webrtc, approvals, ...input } = options.config ?? {};
  const config = realtimeConfigSchema.parse({
    ...input,
    webrtc: { bindAddress: '127.0.0.1', ...webrtc },
    approvals: { ...approvals, ...(options.toolGate && { toolGate: options.toolGate }) },
    ...(options.media && { tools: { authorization: [{ tool: 'send_test_image' }] } }),
    server: { port: 0, ...serverInput },
  });
  const store = await openStore({ engine: 'sqlite', file: join(directory, 'realtime.db') });
  undo.push(() => store.close());
  const gate = options.toolGate
    ? await gateRig({ toolGate: options.toolGate, clock: realClock, store })
    : null;
  if (gate) undo.push(() => gate.system.close());
  const media = options.media
    ? await Media.open({
        store,
        clock: realClock,
        logger: silentLogger,
        publish: () => {},
        config: config.media,
        authorization: config.tools.authorization,
        tenant: 'default',
        directory: join(directory, 'media'),
      })
    : null;
  if (media) undo.push(() => media.close());
  const model = new FakeModel().onTurn((turn) => {
    if (turn.toolOutputs.length > 0) return [say('Done.', { durationMs: 200 })];
    const asked = /^use (\w+)(?: (.*))?$/.exec(turn.lastUserText ?? '');
    if (asked?.[1] && turn.trigger === 'request' && turn.index > 0)
      return [call(asked[1], asked[2] ? JSON.parse(asked[2]) : {})];
    return [say(turn.index === 0 ? 'Hello.' : 'Okay.', { durationMs: 200 })];
  });
  undo.push(() => model.close());
  const pictures = media && mediaTools(media, directory);
  const names = ['delete_file', 'look_up', ...(pictures ? ['send_test_image'] : [])];
  const gateway: ToolGateway = {
    getToolDefinitions: () =>
      names.map((name) => ({
        type: 'function',
        function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties: {} } },
      })),
    executeTool: async (sessionKey, name, args, context) =>
      name === 'send_test_image' && pictures
        ? pictures.executeTool(sessionKey, name, args, context)
        : gate
          ? gate.tools.executeTool(sessionKey, name, args, context)
          : { content: `${name} done`, isError: false },
  };
  const desk = new CallDesk({
    config,
    clock: realClock,
    logger: silentLogger,
    models: createOpenAiModelFactory({
      config: config.model,
      apiKey: 'the-provider-key',
      clock: realClock,
      openSocket: model.openSocket,
    }),
    synthesiser: testSynthesiser,
    store,
    prompts: loadPrompts('en-us'),
    channel: 'realtime',
    gateway,
    persona: 'You are Nano.',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
    approvals: gate?.system.inline ?? null,
    media,
  });
  const records = new CallRecords({
    directory: join(directory, 'calls'),
    config: config.page.records,
    clock: realClock,
    logger: silentLogger,
  });
  desk.onCall = (each) => each.on('ended', (_reason, record) => void records.keep(record));
  const secret = new OperatorSecret(directory);
  const token = (await secret.open(0)) ?? '';
  const peers =
    options.peers === false ? null : await openWebRtcPeers({ config: config.webrtc, clock: realClock });
  if (peers) undo.push(() => peers.close());
  const server = createVoiceServer({
    config,
    desk,
    env: {},
    operator: { approvals: gate?.system ?? null, secret },
    peers,
    archive: { store, records, recordings: null },
    configured: () => [{ name: 'model', state: 'ok', text: 'a double' }],
    version: '1.2.3',
    ...(media && { media }),
    ...(options.webDirectory && { webDirectory: options.webDirectory }),
  });
  const { url } = await server.listen();
  undo.push(async () => {
    desk.hangUpAll();
    await server.close(0);
    await records.close();
  });
  if (media) {
    media.line = lineOf(desk);
    await media.start();
  }

  const get: PageRig['get'] = (path, headers = {}) => fetch(`${url}${path}`, { headers, redirect: 'manual' });
  const post: PageRig['post'] = (path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const owner = async () => {
    const answer = await post('/operator/login', { token }, { origin: url });
    return { origin: url, cookie: cookieOf(answer) };
  };
  const code: PageRig['code'] = async (body = {}) => {
    const answer = await post('/page/links', body, { authorization: `Bearer ${token}` });
    return ((await answer.json()) as { code: string }).code;
  };
  return {
    config,
    server,
    desk,
    model,
    gate,
    media,
    records,
    peers,
    store,
    directory,
    url,
    token,
    owner,
    code,
    get,
    post,
    async guest(given) {
      const answer = await post('/page/session', { code: given ?? (await code()) }, { origin: url });
      return { origin: url, cookie: cookieOf(answer) };
    },
    async call(headers, { callId, shown = [] } = {}) {
      const path = callId === undefined ? '/page/calls' : `/page/calls?call=${callId}`;
      const answer = await post(path, { transport: 'socket' }, headers);
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
      const { socket } = (await answer.json()) as { socket: string };
      const page = new PageDouble(`${url.replace('http', 'ws')}${socket}`, headers.origin ?? url);
      page.mediaCookie = cookieOf(answer);
      undo.push(() => page.close(1000));
      await page.opened;
      page.say({ type: 'hello', v: 1, shown });
      await page.next('welcome');
      return page;
    },
  };
}

/** The media tools in a registry, behind the loop's own runner. */
function mediaTools(media: Media, workspace: string): ToolRunner {
  const registry = new ToolRegistry();
  const policy = new WorkspacePolicy({ workspace, reservedRoots: [] });
  for (const tool of createMediaTools(media, { policy, listed: ['send_test_image'] }))
    registry.register(tool);
  return new ToolRunner({
    registry,
    sessions: { get: async () => ({ rows: [], metadata: {} }) as never },
    fileStates: new FileStateStore(),
    workspace,
    restrictToWorkspace: true,
  });
}

export function cookieOf(answer: Response): string {
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** A page's end of the WebSocket. */
export class PageDouble {
  readonly events: PageEvent[] = [];
  /** Bytes of the agent's audio. */
  audioBytes = 0;
  mediaCookie = '';
  readonly opened: Promise<unknown>;
  readonly closed: Promise<number>;
  readonly #ws: WebSocket;
  readonly #joiner = new MessageJoiner();
  readonly #waiting: { matches: (event: PageEvent) => boolean; resolve: (event: PageEvent) => void }[] = [];

  constructor(url: string, origin: string) {
    this.#ws = new WebSocket(url, { headers: { origin } });
    this.opened = once(this.#ws, 'open');
    this.closed = once(this.#ws, 'close').then(([code]) => code as number);
    this.closed.catch(() => {});
    this.#ws.on('error', () => {});
    this.#ws.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.audioBytes += data.byteLength;
      else this.receive(data.toString('utf8'));
    });
  }

  receive(wire: string): void {
    const value = this.#joiner.join(wire);
    if (value === undefined) return;
    const event = pageEventSchema.parse(value);
    this.events.push(event);
    for (const each of [...this.#waiting]) {
      if (!each.matches(event)) continue;
      this.#waiting.splice(this.#waiting.indexOf(each), 1);
      each.resolve(event);
    }
  }

  say(command: PageCommandInput): void {
    this.#ws.send(JSON.stringify(command));
  }

  speak(bytes: Uint8Array): void {
    this.#ws.send(bytes);
  }

  /** The greeting is over and nobody speaks. */
  async greeted(): Promise<void> {
    await this.next('transcript', ({ role, final }) => role === 'assistant' && final);
    const state = () => this.events.findLast(({ type }) => type === 'state');
    await until('it listens', () => {
      const last = state();
      return last?.type === 'state' && last.state === 'listening';
    });
  }

  /** The first event of a type, past or to come, that is as wanted. */
  next<T extends PageEvent['type']>(
    type: T,
    matches: (event: Extract<PageEvent, { type: T }>) => boolean = () => true,
  ): Promise<Extract<PageEvent, { type: T }>> {
    const isIt = (event: PageEvent): event is Extract<PageEvent, { type: T }> =>
      event.type === type && matches(event as Extract<PageEvent, { type: T }>);
    const before = this.events.find(isIt);
    if (before) return Promise.resolve(before);
    return new Promise((resolve) => {
      this.#waiting.push({ matches: isIt, resolve: (event) => resolve(event as never) });
    });
  }

  close(code: number): void {
    if (this.#ws.readyState <= WebSocket.OPEN) this.#ws.close(code);
  }

  /** The network is gone. */
  cut(): void {
    this.#ws.terminate();
  }
}

export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 5000; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`Never happened: ${what}`);
}

export async function errorOf(answer: Response): Promise<{ status: number; code: string }> {
  const body = (await answer.json()) as { error?: { code?: string } };
  return { status: answer.status, code: body.error?.code ?? '' };
}
