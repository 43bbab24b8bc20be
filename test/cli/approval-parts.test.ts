import { describe, expect, it } from 'vitest';
import type { HostParts } from '../../src/approval/index.ts';
import { startApprovals } from '../../src/cli/approval-parts.ts';
import { type EmbeddedHost, MessageBus } from '../../src/host/index.ts';
import { silentLogger } from '../../src/observe/index.ts';

describe('a message of the approvals', () => {
  it('goes to channels that are there; where nobody would read it, it stays owed', async () => {
    const bus = new MessageBus();
    const channels = { getStatus: () => ({ realtime: {}, telegram: {} }) };
    let parts: HostParts | null = null;
    const start = async (given: HostParts) => {
      parts = given;
    };

    await startApprovals({ start }, { bus, channels, gateway: {} } as unknown as EmbeddedHost, silentLogger);

    const message = (channel: string) => parts!.message({ channel, chatId: '1' }, 'ran once');
    expect([message('telegram'), message('realtime'), message('slack'), message('toString')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(bus.outboundSize).toBe(1);
  });
});
