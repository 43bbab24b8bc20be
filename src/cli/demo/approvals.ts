/**
 * The demo's gate: a tool that deletes a file, which a person has to approve; and a caller who keys in the code that they
 * hear.
 *
 * @module
 */

import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApprovalSystem, createApprovals } from '../../approval/index.ts';
import type { CallProgress } from '../../call/index.ts';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfigInput } from '../../config.ts';
import { type EmbeddedHost, type LoadedConfig, type Tool, toolError, toolText } from '../../host/index.ts';
import { silentLogger } from '../../observe/index.ts';
import type { FullStore } from '../../store/index.ts';

/** `channels.realtime.approvals` of the demo. */
export const DEMO_APPROVALS: NonNullable<RealtimeConfigInput['approvals']> = {
  toolGate: { requireApproval: ['delete_*'], defaultMode: 'inline' },
};

/** The caller is logged in as this person. */
export const DEMO_CALLER = { strength: 'authenticated', id: 'demo' } as const;

/** Phrases of the offline model, beside those of the locale. */
export const DEMO_DELETE_PHRASES = [
  {
    say: ['[please] delete the report [please]', '[please] delete the file report'],
    tool: 'delete_file',
    args: { path: 'report.txt' },
  },
] as const;

/** Deletes one of the workspace's own files, by its plain name. */
export function deleteFileTool(workspace: string): Tool {
  return {
    name: 'delete_file',
    description: 'Deletes a file of the workspace for good.',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Plain name of the file.' } },
      required: ['path'],
      additionalProperties: false,
    },
    async execute({ path }) {
      const name = String(path);
      if (!/^[\w-]+(\.[\w-]+)*$/.test(name)) return toolError('Error: a plain name of a file is needed.');
      try {
        await unlink(join(workspace, name));
        return toolText(`Deleted ${name}.`);
      } catch {
        return toolError(`Error: ${name} was not found.`);
      }
    },
  };
}

/** Made before the host, which does not start beside a gate that it has not been given. */
export function createDemoApprovals(
  config: LoadedConfig,
  store: FullStore,
  clock: Clock,
): ApprovalSystem | null {
  return createApprovals({
    config: config.realtime.approvals,
    store,
    clock,
    logger: silentLogger,
    dataDirectory: config.host.dataDir,
    locale: config.realtime.locale,
    toolTimeoutMs: config.realtime.limits.toolTimeoutS * 1000,
    executor: 'demo',
  });
}

/** Once the host is there. */
export async function startDemoApprovals(
  approvals: ApprovalSystem,
  host: EmbeddedHost,
  workspace: string,
): Promise<void> {
  host.registry.register(deleteFileTool(workspace));
  await approvals.start({ gateway: host.gateway, message: () => false });
}

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/**
 * Listens as a caller does, and presses the code of each prompt from the second on; the first is answered by voice.
 *
 * @param press - a key of the caller's
 */
export function keysInCode(press: (digit: string) => void): (progress: CallProgress) => void {
  let prompts = 0;
  return (progress) => {
    if (progress.type !== 'agent_said' || !progress.whole) return;
    const code = /the code is (\w+) (\w+)/.exec(progress.text);
    if (!code || ++prompts === 1) return;
    for (const word of code.slice(1)) press(String(DIGITS.indexOf(word)));
  };
}
