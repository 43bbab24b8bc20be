import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { MediaRig, NUMBER } from '../media/rig.ts';
import { tempDir } from '../store/temp.ts';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const dir = tempDir('cli-outbox');
const configFile = join(dir, 'config.json');

function outbox(...args: string[]) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, 'outbox', ...args, '--config', configFile],
    { encoding: 'utf8', env: { ...process.env, HOME: dir } },
  );
  return { stdout, stderr, status };
}

/** A delivery that ended as a dead letter, and one that nobody can tell about. */
async function fill(): Promise<string[]> {
  const dataDir = join(dir, 'realtime');
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(configFile, '{}');
  const store = await openStore({ engine: 'sqlite', file: join(dataDir, 'realtime.db') });
  const rig = await MediaRig.open({
    store,
    // The command goes by the machine's clock.
    clock: new FakeClock({ wallStartMs: Date.now() }),
    config: {
      tools: { authorization: [{ tool: 'send_test_image' }] },
      media: {
        consent: ['*'],
        messaging: { accountSid: 'AC1', authToken: 'not-shown', from: '+15550100999' },
      },
    },
    media: { publicUrl: 'https://voice.example' },
  });
  const ids: string[] = [];
  for (const outcome of ['dead_letter', 'unknown'] as const) {
    const callId = await rig.call({ strength: 'attested', id: NUMBER });
    await rig.send(callId);
    const now = rig.clock.wallNow();
    const [claimed] = await store.claimOutbox({ owner: 'test', now, leaseMs: 1, limit: 1 });
    const id = claimed?.row.deliveryId ?? '';
    ids.push(id);
    await store.changeOutbox(
      id,
      1,
      outcome === 'unknown'
        ? { status: 'unknown', availableAt: now + 86_400_000 }
        : { status: 'dead_letter', error: 'provider_rejected' },
      now,
    );
  }
  await rig.close();
  return ids;
}

describe('nanobot-realtime outbox', () => {
  it('lists, shows, retries and drops, and shows no number, link or token', async () => {
    const [dead = '', unknown = ''] = await fill();

    const listed = outbox('list');
    expect(listed.status).toBe(0);
    expect(listed.stdout).toMatch(new RegExp(`${dead} +dead_letter +image +mms +1 .*provider_rejected`));
    expect(listed.stdout).toMatch(new RegExp(`${unknown} +unknown +image +mms`));
    expect(outbox('list', '--status', 'dead_letter').stdout).not.toContain(unknown);

    const shown = outbox('show', dead);
    expect(shown.stdout).toMatch(/meant for +mms/);
    expect(shown.stdout).toMatch(/why not +provider_rejected/);

    const dropped = outbox('drop', unknown);
    expect(dropped.stdout).toBe(`${unknown} is given up.\n`);
    expect(outbox('drop', unknown)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('nothing to give up'),
    });
    expect(outbox('show', 'nobody')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("'nobody'"),
    });

    const everything = [listed, shown, dropped].map(({ stdout, stderr }) => stdout + stderr).join();
    expect(everything).not.toMatch(/15550100|voice\.example|not-shown|att_|Test picture/);
  });

  it('sends again what is a dead letter, once somebody says so, and notes it in the audit', async () => {
    const store = await openStore({ engine: 'sqlite', file: join(dir, 'realtime', 'realtime.db') });
    const row = (await store.listOutbox()).find(({ lastError }) => lastError === 'provider_rejected');

    const retried = outbox('retry', row?.deliveryId ?? '');

    expect(retried).toMatchObject({ status: 0, stdout: `${row?.deliveryId} will be sent again.\n` });
    expect(await store.getOutbox(row?.deliveryId ?? '')).toMatchObject({ status: 'retryable', attempts: 0 });
    const audit = await store.listMediaAudit({ callId: row?.event.callId ?? '' });
    expect(audit.filter(({ type }) => type === 'delivery.operator')).toMatchObject([{ detail: 'retry' }]);
    await store.close();
  });

  it('takes no status that there is not', () => {
    expect(outbox('list', '--status', 'lost')).toMatchObject({ status: 2 });
  });
});
