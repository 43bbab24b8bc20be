/**
 * The gate's section as the config file holds it now, for edits while the gateway runs.
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { ToolGateConfig } from '../config-approvals.ts';
import { type LoadedConfig, loadConfig } from '../host/index.ts';
import { withGatedFiles } from './media-parts.ts';

/** A file changed as lately as this is read once more: two edits in one tick of the disk's clock look like one. */
const SETTLE_MS = 3000;

/**
 * Reads the section anew when the file is another than the one that was read last: replaced, or written in place.
 *
 * @returns `null` when nothing changed; throws for a file that can't be read as it is now
 */
export function gateReader(
  { path, found }: Pick<LoadedConfig, 'path' | 'found'>,
  clock: Clock,
): () => Promise<ToolGateConfig | null> {
  // The first look reads in any case: the file may have changed since it was loaded.
  let last = found ? '' : ABSENT;
  return async () => {
    const stamp = await stampOf(path);
    if (stamp.text === last) return null;
    last = clock.wallNow() - stamp.changedAt < SETTLE_MS ? '' : stamp.text;
    return withGatedFiles(await loadConfig({ path })).realtime.approvals.toolGate;
  };
}

const ABSENT = 'absent';

async function stampOf(path: string): Promise<{ text: string; changedAt: number }> {
  try {
    const { mtimeNs, ctimeNs, ctimeMs, size, ino } = await stat(path, { bigint: true });
    return { text: `${mtimeNs}:${ctimeNs}:${size}:${ino}`, changedAt: Number(ctimeMs) };
  } catch {
    return { text: ABSENT, changedAt: Number.NEGATIVE_INFINITY };
  }
}
