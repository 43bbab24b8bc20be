/**
 * Which media tools a session may use: the operator's list, fixed for the session when it begins.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { VoiceError } from '../errors.ts';

export interface ToolAuthorization {
  readonly tool: string;
  /** Without it there is no session. */
  readonly required: boolean;
}

export interface Admission {
  /** Media tools of this session; every other one does not exist for it. */
  readonly tools: readonly string[];
  /** Digest of the list as it was. */
  readonly revision: string;
}

/**
 * Decides by the list what a session gets. Not listed: nothing. Optional and not there: left out.
 *
 * @throws VoiceError `CONFIG_INVALID` for a tool listed twice, `MEDIA_TOOL_UNAVAILABLE` for a required one not there
 */
export function admit(
  authorization: readonly ToolAuthorization[],
  available: ReadonlySet<string>,
): Admission {
  const names = authorization.map(({ tool }) => tool);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new VoiceError('CONFIG_INVALID', `tools.authorization: '${twice}' is listed twice.`);
  const missing = authorization.find(({ tool, required }) => required && !available.has(tool));
  if (missing) {
    throw new VoiceError(
      'MEDIA_TOOL_UNAVAILABLE',
      `The media tool '${missing.tool}' is required (channels.realtime.tools.authorization) and not available.`,
    );
  }
  return { tools: names.filter((name) => available.has(name)), revision: revisionOf(authorization) };
}

/** The order of the list makes no difference. */
export function revisionOf(authorization: readonly ToolAuthorization[]): string {
  const entries = authorization.map(({ tool, required }) => [tool, required] as const);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}
