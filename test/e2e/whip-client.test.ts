/** A WHIP client that is not ours, Debian's `simple-whip-client` (GStreamer, libnice): it connects, and is heard. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { inOwnNetwork, isInstalled, noOwnNetwork, OWN_ADDRESS } from './own-network.ts';

const folder = mkdtempSync(join(tmpdir(), 'whip-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * In Debian 12 the client is linked with libsoup 2 and its libnice, through UPnP that nobody uses here, with libsoup 3:
 * together in one process they abort at once. An empty UPnP in front of that one lets it start.
 *
 * @returns what is to be put in front of the system's libraries; `null` where that can't be made
 */
function libraryPath(): string | null {
  const linked = (path: string) => execFileSync('ldd', [path], { encoding: 'utf8' });
  const client = execFileSync('sh', ['-c', 'command -v whip-client'], { encoding: 'utf8' }).trim();
  const nice = /libnice\S* => (\S+)/.exec(
    linked('/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstnice.so'),
  )?.[1];
  const clashes = /libsoup-2/.test(linked(client)) && nice !== undefined && /libsoup-3/.test(linked(nice));
  if (!clashes) return '';
  if (!isInstalled('cc')) return null;
  const functions = ['get_type', 'thread_new', 'add_port', 'remove_port_local'];
  const source = functions.map((name) => `void *gupnp_simple_igd_${name}(void) { return 0; }\n`).join('');
  writeFileSync(join(folder, 'upnp.c'), source);
  execFileSync('cc', ['-shared', '-o', join(folder, 'libgupnp-igd-1.0.so.4'), join(folder, 'upnp.c')]);
  return folder;
}

function whyNot(): string | null {
  if (!isInstalled('whip-client')) return 'simple-whip-client is not installed';
  const network = noOwnNetwork();
  if (network !== null) return network;
  try {
    return libraryPath() === null ? 'this client needs a C compiler to start at all (see the test)' : null;
  } catch {
    return 'the client’s libraries are elsewhere than expected';
  }
}

const reason = whyNot();
if (reason !== null) console.warn(`Skipped: a WHIP client that is not ours. ${reason}.`);

describe('Debian’s simple-whip-client', () => {
  it.skipIf(reason !== null)(
    'connects with a guest’s code, is heard, and hangs up',
    { timeout: 120_000 },
    () => {
      const script = fileURLToPath(new URL('whip-client-run.ts', import.meta.url));

      const { stdout, stderr } = inOwnNetwork(
        [process.execPath, '--disable-warning=ExperimentalWarning', script, OWN_ADDRESS],
        { LD_LIBRARY_PATH: libraryPath() ?? '', GST_REGISTRY: join(folder, 'registry.bin') },
        110_000,
      );

      expect(stdout, stderr).toMatch(/^\{/);
      const result = JSON.parse(stdout) as { toneDb: number; otherDb: number };
      expect(result).toMatchObject({ endReason: 'caller_hangup', peers: 0, modelMs: expect.any(Number) });
      expect(result.toneDb - result.otherDb).toBeGreaterThan(40);
    },
  );
});
