import { describe, expect, it } from 'vitest';
import { createMediaParts, withGatedFiles } from '../../src/cli/media-parts.ts';
import { realClock } from '../../src/clock.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import type { LoadedConfig } from '../../src/host/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { tempDir } from '../store/temp.ts';

const dir = tempDir('media-parts');
const loaded = (realtime: RealtimeConfigInput) =>
  ({ realtime: realtimeConfigSchema.parse(realtime), host: { dataDir: dir } }) as unknown as LoadedConfig;
const parts = (config: LoadedConfig) =>
  createMediaParts({
    config,
    store: {} as never,
    clock: realClock,
    logger: silentLogger,
    publish: () => {},
    env: {},
  });

describe('media as start puts them together', () => {
  it('are not there at all unless the config lists a media tool', async () => {
    expect(await parts(loaded({}))).toBeNull();

    const media = await parts(loaded({ tools: { authorization: [{ tool: 'send_chart' }] } }));
    expect(media).not.toBeNull();
    await media?.close();
  });

  it('keep one signing key over restarts', async () => {
    const config = loaded({ tools: { authorization: [{ tool: 'send_chart' }] } });
    const [one, two] = [await parts(config), await parts(config)];

    const seal = one?.signer.seal('page', 'a call', Date.now() + 1000) ?? '';

    expect(two?.signer.unseal('page', seal, Date.now())).toBe('a call');
    expect(two?.signer.unseal('other', seal, Date.now())).toBeNull();
    expect(two?.signer.unseal('page', seal, Date.now() + 2000)).toBeNull();
    await Promise.all([one?.close(), two?.close()]);
  });

  const gate = (toolGate: NonNullable<RealtimeConfigInput['approvals']>['toolGate'], tool = 'send_file') =>
    withGatedFiles(loaded({ tools: { authorization: [{ tool }] }, approvals: { toolGate } })).realtime
      .approvals.toolGate.requireApproval;

  it('have files wait at the gate where there is one, whatever else it holds', () => {
    expect(gate({ requireApproval: ['exec'] })).toEqual(['exec', 'send_file']);
    expect(gate({ requireApproval: ['send_file'] })).toEqual(['send_file']);
    expect(gate({ enabled: true })).toEqual(['send_file']);
  });

  it('leave the gate as it is where it is off, or where no file can be sent', () => {
    expect(gate({})).toEqual([]);
    expect(gate({ enabled: false, requireApproval: ['exec'] })).toEqual(['exec']);
    expect(gate({ requireApproval: ['exec'] }, 'send_chart')).toEqual(['exec']);
  });
});
