/**
 * One call of the demo, from the caller's first word to the record on disk.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CallDesk, type CallProgress, loadPrompts, toolPolicyOf } from '../../call/index.ts';
import { CHANNEL_NAME, createModels, lineOf } from '../../channel/index.ts';
import { type Clock, realClock } from '../../clock.ts';
import { VirtualClock } from '../../clock-virtual.ts';
import { VoiceError } from '../../errors.ts';
import { createToolGatewayFacade } from '../../gateway/index.ts';
import { type Clip, RECORDED_CALLER_CAPABILITIES, RecordedCaller } from '../../leg/wav/index.ts';
import { type CallRecord, silentLogger } from '../../observe/index.ts';
import { createSynthesiser } from '../../speech/index.ts';
import { openStore } from '../../store/index.ts';
import { createMediaParts } from '../media-parts.ts';
import { workspaceFiles } from '../workspace-files.ts';
import {
  createDemoApprovals,
  DEMO_APPROVALS,
  DEMO_CALLER,
  keysInCode,
  startDemoApprovals,
} from './approvals.ts';
import { createDemoHost, loadDemoConfig } from './host.ts';
import type { DemoView } from './view.ts';
import { createDemoFolders } from './workspace.ts';

/** A call that is not over by then has gone wrong. */
const LIMIT_MS = 5 * 60_000;

export interface DemoOptions {
  readonly fast: boolean;
  /** Absolute folder that the call's own folder is made in. */
  readonly out: string;
  readonly clips: readonly Clip[];
  readonly watch: (clock: Clock) => { progress: (progress: CallProgress) => void; view: DemoView };
}

export interface DemoResult {
  readonly record: CallRecord;
  readonly view: DemoView;
  /** Real time, whatever the clock. */
  readonly tookMs: number;
}

/** @throws VoiceError when a part can't be started, or the call does not end */
export async function runDemoCall(options: DemoOptions): Promise<DemoResult> {
  const startedAt = performance.now();
  const folders = await createDemoFolders();
  const undo: (() => Promise<unknown>)[] = [() => folders.remove()];
  try {
    const clock = options.fast ? new VirtualClock() : realClock;
    const loaded = await loadDemoConfig(folders, {
      model: { provider: 'command' },
      recording: { enabled: true, directory: options.out },
      tools: { authorization: [{ tool: 'send_test_image' }] },
      phrasesFile: fileURLToPath(new URL('../../../assets/demo/phrases.json', import.meta.url)),
      approvals: DEMO_APPROVALS,
      greeting: 'Hello, this is nanobot. How can I help you?',
    });
    const config = loaded.realtime;
    const synthesiser = createSynthesiser({ locale: config.locale });
    undo.push(() => synthesiser.close());
    const store = await openStore({ engine: 'sqlite', file: join(loaded.host.dataDir, 'realtime.db') });
    undo.push(() => store.close());
    const media = await createMediaParts({
      config: loaded,
      store,
      clock,
      logger: silentLogger,
      publish: () => {},
      env: {},
    });
    if (media) undo.push(() => media.close());
    const approvals = createDemoApprovals(loaded, store, clock);
    const host = await createDemoHost(loaded, store, clock, media, approvals);
    undo.push(() => host.close());
    if (approvals) {
      undo.push(() => approvals.close());
      await startDemoApprovals(approvals, host, folders.workspace);
    }
    const slotValues = async (slot: string) => (slot === 'file' ? workspaceFiles(folders.workspace) : []);
    const models = createModels({ config, clock, logger: silentLogger, synthesiser, env: {}, slotValues });
    undo.push(() => models.close());
    const desk = new CallDesk({
      config,
      clock,
      logger: silentLogger,
      models,
      synthesiser,
      store,
      prompts: loadPrompts(config.locale),
      channel: CHANNEL_NAME,
      gateway: createToolGatewayFacade(host.gateway, { channel: CHANNEL_NAME, ...config.tools }),
      media,
      approvals: approvals?.inline ?? null,
      persona: 'You are nanobot.',
      toolPolicy: toolPolicyOf(config),
      history: (sessionKey) => host.history(sessionKey, config.historyRows),
      recordingDirectory: options.out,
      onTurnFinal: () => void clock.track(host.projectTurns()),
    });
    if (media) {
      media.line = lineOf(desk);
      await media.start();
    }
    const { progress, view } = options.watch(clock);
    const caller = new RecordedCaller({ clock, clips: options.clips });
    const keys = keysInCode((digit) => caller.emit('dtmf', digit));
    let ended = false;
    const end = Promise.withResolvers<void>();
    desk.onCall = (call) => {
      call.on('progress', progress);
      call.on('progress', keys);
      call.on('ended', () => {
        ended = true;
        end.resolve();
      });
    };
    const { callId } = await desk.admit({
      identity: DEMO_CALLER,
      route: 'demo',
      carrier: RECORDED_CALLER_CAPABILITIES.carrier,
      carrierCallId: 'demo',
      // Of this recording the caller has the keys as well.
      leg: { ...RECORDED_CALLER_CAPABILITIES, dtmfIn: true },
    });
    desk.attach(callId, caller);
    caller.start();
    if (clock instanceof VirtualClock) await clock.run(() => ended, { limitMs: LIMIT_MS });
    else {
      const limit = clock.setTimeout(end.resolve, LIMIT_MS);
      await end.promise;
      limit.clear();
    }
    if (!ended)
      throw new VoiceError('CALL_NOT_FOUND', 'The demo’s call did not end by itself; this is a bug.');
    const record = JSON.parse(await readFile(join(options.out, callId, 'call.json'), 'utf8')) as CallRecord;
    return { record, view, tookMs: performance.now() - startedAt };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}
