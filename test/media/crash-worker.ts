/**
 * One life of a gateway that sends media, on a data folder that outlives it. Killed where it is told to, or from
 * outside; started again, it makes good what the life before left. Everything outside the process (carrier, page) is
 * reached over sockets, so that it remembers.
 */

import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { runGuarded } from '../../src/gateway/index.ts';
import { FileStateStore } from '../../src/host/guards/file-states.ts';
import { WorkspacePolicy } from '../../src/host/guards/workspace-policy.ts';
import { ToolRegistry } from '../../src/host/registry.ts';
import { createMediaTools } from '../../src/host/tools/media/index.ts';
import { Media } from '../../src/media/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';

export interface CrashPlan {
  readonly directory: string;
  readonly baseUrl: string;
  readonly accountSid: string;
  readonly authToken: string;
  /** New calls that send one picture each. */
  readonly calls: readonly string[];
  /** The life ends, as by SIGKILL, at the n-th step; 0 runs until everything is settled. */
  readonly killAtStep: number;
  /** ms that are added to the clock, so that leases and settling times of earlier lives are over. */
  readonly skewMs: number;
}

const plan = JSON.parse(process.argv[2] ?? '') as CrashPlan;
const clock = { ...realClock, wallNow: () => Date.now() + plan.skewMs };
let steps = 0;
const onStep = (step: string) => {
  steps += 1;
  if (steps !== plan.killAtStep) return;
  writeSync(1, `killed ${step}\n`);
  process.kill(process.pid, 'SIGKILL');
  // The signal takes effect before anything else runs.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

const store = await openStore({ engine: 'sqlite', file: join(plan.directory, 'realtime.db') });
const { accountSid, authToken, baseUrl } = plan;
const config = realtimeConfigSchema.parse({
  tools: { authorization: [{ tool: 'send_test_image' }] },
  media: {
    consent: ['*'],
    messaging: { accountSid, authToken, baseUrl, from: '+15550100999', mmsPrefixes: [] },
  },
});
const media = await Media.open({
  store,
  clock,
  logger: silentLogger,
  config: config.media,
  authorization: config.tools.authorization,
  tenant: 'acme',
  directory: join(plan.directory, 'media'),
  publicUrl: 'https://voice.example',
  onStep,
});
const registry = new ToolRegistry();
const policy = new WorkspacePolicy({ workspace: plan.directory });
for (const tool of createMediaTools(media, { policy, listed: ['send_test_image'] })) registry.register(tool);

await store.closeStaleCalls(clock.wallNow());
await media.start();
const files = new FileStateStore();
for (const [index, callId] of plan.calls.entries()) {
  const sessionKey = `realtime:${callId}`;
  const id = `+1555010${String(1000 + index)}`;
  await media.openCall({ callId, sessionKey, strength: 'attested', id, hasPage: false });
  await store.beginCall({
    id: callId,
    sessionKey,
    carrier: 'twilio',
    provider: 'command',
    identityStrength: 'attested',
    startedAt: clock.wallNow(),
  });
  await store.openTurn({ callId, turn: 1, sessionKey, startedAt: clock.wallNow() });
  const result = await runGuarded(
    {
      fileStates: files.forSession(sessionKey),
      request: {
        channel: 'realtime',
        chatId: callId,
        messageId: null,
        sessionKey,
        metadata: {},
        call: { callId, toolCallId: 't1', turn: 1 },
      },
      workspaceScope: { workspace: plan.directory, restrictToWorkspace: true, sourceChannel: null },
    },
    () => registry.execute('send_test_image', {}),
  );
  // What the model is told; from here on the picture may not get lost.
  if (!result.isError) writeSync(1, `queued ${callId}\n`);
  onStep('told');
  const tool = {
    callId: 't1',
    name: 'send_test_image',
    args: '{}',
    output: String(result.content),
    isError: result.isError,
  };
  await store.commitTurn(callId, 1, { tools: [tool], replies: 'release' });
  onStep('committed');
}
media.poke();
await media.idle();
// Rows that wait for a moment to come are the next life's.
writeSync(1, `steps ${steps}\n`);
await media.close();
await store.close();
