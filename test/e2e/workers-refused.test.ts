/** What `start --workers` refuses before it listens. */

import { afterEach, describe, expect, it } from 'vitest';
import type { RealtimeConfigInput } from '../../src/config.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const homes: TestHome[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) home.remove();
});

async function start(realtime: RealtimeConfigInput, workers: string) {
  const home = new TestHome(realtime);
  homes.push(home);
  const gateway = new GatewayProcess(home, {}, ['--workers', workers]);
  return { code: await gateway.exit, stderr: gateway.stderr, stdout: gateway.stdout };
}

describe('start --workers', { timeout: 60_000 }, () => {
  it('refuses a certificate that can’t be read, and leaves nothing', async () => {
    const { code, stderr, stdout } = await start(
      { server: { port: 0, tls: { cert: '/none/c.pem', key: '/none/k.pem' } } },
      '2',
    );
    expect(code).toBe(78);
    expect(stderr).toContain('CONFIG_INVALID');
    expect(stderr).toContain('server.tls');
    expect(stdout).not.toContain('Listening');
  });

  it('refuses fewer UDP ports than workers', async () => {
    const { code, stderr } = await start(
      { server: { port: 0 }, webrtc: { portRange: { min: 40_000, max: 40_000 } } },
      '2',
    );
    expect(code).toBe(78);
    expect(stderr).toContain('webrtc.portRange');
  });

  it('refuses what is no number of workers', async () => {
    for (const count of ['0', 'many', '65', '1.5']) {
      const { code, stderr } = await start({ server: { port: 0 } }, count);
      expect([count, code]).toEqual([count, 2]);
      expect(stderr).toContain('from 1 to 64, or auto');
    }
  });

  it('says why a worker can’t start, in its own words, and leaves nothing', async () => {
    const { code, stderr, stdout } = await start(
      { server: { port: 0 }, store: { engine: 'postgres', url: 'postgres://127.0.0.1:9/none' } },
      '2',
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain('STORE_UNAVAILABLE');
    expect(stdout).not.toContain('Listening');
  });
});
