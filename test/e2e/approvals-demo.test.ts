/** The parts of the demo's gate, on the offline model and a recorded caller: refused by voice, approved by digits. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeG711, loadAudio, resample } from '../../src/audio/index.ts';
import { CallDesk, type CallProgress, defaultToolPolicy, loadPrompts } from '../../src/call/index.ts';
import { createModels } from '../../src/channel/index.ts';
import {
  createDemoApprovals,
  DEMO_APPROVALS,
  DEMO_CALLER,
  DEMO_DELETE_PHRASES,
  keysInCode,
  startDemoApprovals,
} from '../../src/cli/demo/approvals.ts';
import { createToolGatewayFacade } from '../../src/gateway/index.ts';
import { createEmbeddedHost, loadConfig } from '../../src/host/index.ts';
import { type Clip, RECORDED_CALLER_CAPABILITIES, RecordedCaller } from '../../src/leg/wav/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { createSynthesiser } from '../../src/speech/index.ts';
import { openStore } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';

it('a recorded caller’s "delete the report" is asked about, refused once by voice and approved once by digits', {
  timeout: 90_000,
}, async () => {
  await loadAudio();
  const home = mkdtempSync(join(tmpdir(), 'approvals-demo-'));
  const workspace = join(home, 'workspace');
  const report = join(workspace, 'report.txt');
  const phrasesFile = join(home, 'phrases.json');
  writeFileSync(phrasesFile, JSON.stringify({ phrases: DEMO_DELETE_PHRASES }));
  const path = join(home, 'config.json');
  writeFileSync(
    path,
    JSON.stringify({
      agents: { defaults: { workspace } },
      channels: {
        realtime: {
          model: { provider: 'command' },
          phrasesFile,
          approvals: DEMO_APPROVALS,
          greeting: 'Hello.',
        },
      },
    }),
  );
  const config = await loadConfig({ path });
  const clock = new FakeClock();
  const store = await openStore({ engine: 'sqlite', file: ':memory:' });
  const synthesiser = createSynthesiser({ locale: 'en-us' });
  const approvals = createDemoApprovals(config, store, clock);
  if (!approvals) throw new Error('There is no gate.');
  const host = await createEmbeddedHost({ config, store, clock, logger: silentLogger, approvals });
  await startDemoApprovals(approvals, host, workspace);
  writeFileSync(report, 'x');
  const models = createModels({ config: config.realtime, clock, logger: silentLogger, synthesiser, env: {} });
  const desk = new CallDesk({
    config: config.realtime,
    clock,
    logger: silentLogger,
    models,
    synthesiser,
    store,
    prompts: loadPrompts('en-us'),
    channel: 'realtime',
    gateway: createToolGatewayFacade(host.gateway, { channel: 'realtime' }),
    persona: '',
    toolPolicy: defaultToolPolicy(60_000),
    history: async () => [],
    recordingDirectory: null,
    approvals: approvals.inline,
  });
  const voice = createSynthesiser({ locale: 'en-us', voice: 'rms' });
  const clip = async (text: string, delayMs: number): Promise<Clip> => {
    const { samples } = await voice.synthesise(text);
    return {
      name: text,
      cue: { when: 'answered', delayMs },
      audio: encodeG711(resample(samples, 16_000, 8000), 'pcmu'),
    };
  };
  const clips = [
    await clip('delete the report', 700),
    await clip('no', 1200),
    await clip('delete the report', 1500),
  ];
  const caller = new RecordedCaller({ clock, clips });
  const said: string[] = [];
  const seen: boolean[] = [];
  const keys = keysInCode((digit) => caller.emit('dtmf', digit));
  let ended = false;
  desk.onCall = (call) => {
    call.on('progress', (progress: CallProgress) => {
      keys(progress);
      if (progress.type === 'agent_said') said.push(progress.text);
      if (progress.type === 'agent_said' && progress.text.startsWith('All right'))
        seen.push(existsSync(report));
    });
    call.on('ended', () => {
      ended = true;
    });
  };
  const leg = { ...RECORDED_CALLER_CAPABILITIES, dtmfIn: true };
  const { callId } = await clock.drive(
    desk.admit({ identity: DEMO_CALLER, route: 'demo', carrier: 'wav', carrierCallId: 'demo', leg }),
  );
  desk.attach(callId, caller);
  caller.start();
  await clock.run(() => ended, { limitMs: 180_000 });

  expect(seen).toEqual([true]);
  expect(said.filter((each) => each.startsWith('I need your approval for delete file: report'))).toHaveLength(
    2,
  );
  expect((await store.listApprovals()).map((each) => [each.status, each.decidedInput])).toEqual([
    ['executed', 'keypad'],
    ['denied', 'speech'],
  ]);
  expect(existsSync(report)).toBe(false);
  await approvals.close();
  await host.close();
  await models.close();
  await Promise.all([voice.close(), synthesiser.close(), store.close()]);
  rmSync(home, { recursive: true, force: true });
});
