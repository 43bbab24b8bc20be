/**
 * The token of the Agent Plugin's MCP server. The plugin makes it, in the folder that nanobot gave it and that only this
 * user can read; we look it up with each request, so that neither has to start first.
 *
 * @module
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export const PLUGIN_NAME = 'nanobot-channel-realtime';
export const TOKEN_FILE = 'token';
/** What tells the plugin where we listen, in our data folder. */
export const GATEWAY_FILE = 'gateway.json';
const MAX_TOKEN_BYTES = 200;
const MIN_TOKEN_CHARS = 40;

const hash = (text: string) => createHash('sha256').update(text, 'utf8').digest();

/**
 * nanobot's data folder of our plugin: beside the config file, by the workspace's real path.
 *
 * @param dataDirectory - ours, which lies beside the config file too
 */
export async function pluginDataDirectory(dataDirectory: string, workspace: string): Promise<string> {
  const real = await realpath(workspace).catch(() => workspace);
  const id = createHash('sha256').update(real, 'utf8').digest('hex').slice(0, 12);
  return join(dirname(dataDirectory), 'plugin-data', id, PLUGIN_NAME);
}

/** Whether this is the plugin's token now. A file that others can read has none. */
export async function isPluginToken(directory: string, token: string): Promise<boolean> {
  const known = await readToken(join(directory, TOKEN_FILE));
  return known !== null && timingSafeEqual(hash(known), hash(token));
}

async function readToken(path: string): Promise<string | null> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode, size } = await file.stat();
      if ((mode & 0o077) !== 0 || size > MAX_TOKEN_BYTES) return null;
      const text = (await file.readFile('utf8')).trim();
      return text.length >= MIN_TOKEN_CHARS ? text : null;
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

/**
 * Says where the gateway listens, for the plugin of this user alone.
 *
 * @returns takes it back
 */
export async function announceGateway(
  dataDirectory: string,
  url: string,
  pid = process.pid,
): Promise<() => Promise<void>> {
  const path = join(dataDirectory, GATEWAY_FILE);
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  await writeFile(temporary, `${JSON.stringify({ url: loopbackOf(url), pid })}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  await rename(temporary, path);
  return async () => {
    // Another process may have started meanwhile.
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.includes(`"pid":${pid}}`)) await rm(path, { force: true });
  };
}

/** Who listens on every address is reached on this machine's own. */
function loopbackOf(url: string): string {
  const address = new URL(url);
  if (address.hostname === '0.0.0.0') address.hostname = '127.0.0.1';
  if (address.hostname === '[::]') address.hostname = '[::1]';
  return address.href;
}
