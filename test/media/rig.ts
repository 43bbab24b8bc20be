import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { WorkspacePolicy } from '../../src/host/guards/workspace-policy.ts';
import { FileStateStore, ToolRegistry } from '../../src/host/index.ts';
import { ToolRunner } from '../../src/host/loop/tool-runner.ts';
import { createMediaTools } from '../../src/host/tools/media/index.ts';
import { Media, type MediaOptions } from '../../src/media/index.ts';
import { type Logger, silentLogger } from '../../src/observe/index.ts';
import { type FullStore, openStore } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';

export const NUMBER = '+15550100123';
const LISTED = ['send_test_image', 'send_file', 'send_chart'];

export interface RigOptions {
  readonly config?: RealtimeConfigInput;
  readonly store?: FullStore;
  readonly clock?: FakeClock;
  readonly directory?: string;
  readonly logger?: Logger;
  readonly media?: Partial<MediaOptions>;
}

/** Media, its tools in a registry behind the loop's own runner, and a line that can be spoken on. */
export class MediaRig {
  readonly store: FullStore;
  readonly clock: FakeClock;
  readonly media: Media;
  readonly registry = new ToolRegistry();
  readonly workspace: string;
  readonly directory: string;
  readonly #runner: ToolRunner;
  /** What was said on which call. */
  readonly spoken: { readonly callId: string; readonly text: string }[] = [];
  /** Calls that have a caller. */
  readonly live = new Set<string>();

  private constructor(parts: Pick<MediaRig, 'store' | 'clock' | 'media' | 'workspace' | 'directory'>) {
    this.store = parts.store;
    this.clock = parts.clock;
    this.media = parts.media;
    this.workspace = parts.workspace;
    this.directory = parts.directory;
    this.media.line = {
      isLive: (callId) => this.live.has(callId),
      speakFallback: async (callId, text) => {
        this.spoken.push({ callId, text });
        return true;
      },
    };
    const policy = new WorkspacePolicy({ workspace: this.workspace, reservedRoots: [this.directory] });
    for (const tool of createMediaTools(this.media, { policy, listed: LISTED })) this.registry.register(tool);
    this.#runner = new ToolRunner({
      registry: this.registry,
      sessions: { get: async () => ({ rows: [], metadata: {} }) as never },
      fileStates: new FileStateStore(),
      workspace: this.workspace,
      restrictToWorkspace: true,
    });
  }

  static async open(options: RigOptions = {}): Promise<MediaRig> {
    const store = options.store ?? (await openStore({ engine: 'sqlite', file: ':memory:' }));
    const clock = options.clock ?? new FakeClock();
    const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'media-rig-'));
    const workspace = mkdtempSync(join(tmpdir(), 'media-workspace-'));
    const config = realtimeConfigSchema.parse({
      tools: { authorization: LISTED.map((tool) => ({ tool })) },
      ...options.config,
    });
    const media = await Media.open({
      store,
      clock,
      directory,
      logger: options.logger ?? silentLogger,
      tenant: 'acme',
      authorization: config.tools.authorization,
      config: config.media,
      random: () => 0.5,
      ...options.media,
    });
    return new MediaRig({ store, clock, media, workspace, directory });
  }

  /** A call that is admitted and in its first turn. */
  async call(
    caller: Partial<Parameters<Media['openCall']>[0]> = {},
    callId = randomBytes(16).toString('hex'),
  ): Promise<string> {
    const sessionKey = `realtime:${callId}`;
    await this.media.openCall({ callId, sessionKey, strength: 'none', id: null, hasPage: false, ...caller });
    await this.store.beginCall({
      id: callId,
      sessionKey,
      carrier: 'wav',
      provider: 'command',
      identityStrength: caller.strength ?? 'none',
      startedAt: this.clock.wallNow(),
    });
    await this.store.openTurn({ callId, turn: 1, sessionKey, startedAt: this.clock.wallNow() });
    this.live.add(callId);
    return callId;
  }

  /** Runs a tool as the loop does; its outcome is not committed yet. */
  execute(
    callId: string,
    name = 'send_test_image',
    args: unknown = {},
    toolCallId = randomBytes(6).toString('hex'),
  ) {
    return this.#runner.executeTool(`realtime:${callId}`, name, args, {
      channel: 'realtime',
      chatId: callId,
      callId,
      toolCallId,
      turn: 1,
    });
  }

  /** The same, and its outcome is committed and released, as the call does once the model has answered. */
  async send(callId: string, name = 'send_test_image', args: unknown = {}) {
    const toolCallId = randomBytes(6).toString('hex');
    const result = await this.execute(callId, name, args, toolCallId);
    const output = String(result.content);
    const tool = { callId: toolCallId, name, args: JSON.stringify(args), output, isError: result.isError };
    await this.store.commitTurn(callId, 1, { tools: [tool], replies: 'release' });
    return result;
  }

  /** Lets deliveries run for so long. */
  async deliver(ms = 0): Promise<void> {
    this.media.poke();
    await this.media.idle();
    if (ms > 0) await this.clock.advance(ms);
    await this.media.idle();
  }

  async rows(callId: string) {
    return (await this.store.listOutbox({ callId })).sort((a, b) => a.segment - b.segment);
  }

  async close(): Promise<void> {
    await this.media.close();
    await this.store.close();
  }
}
