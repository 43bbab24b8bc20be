/**
 * The built-in tools, made from the config. What is switched off is not made at all.
 *
 * @module
 */

import { type Clock, realClock } from '../../clock.ts';
import { type ConnectorFactory, PathLocks, type SsrfPolicy, type WorkspacePolicy } from '../guards/index.ts';
import type { Tool } from '../registry-tool.ts';
import { currentTimeTool } from './current-time.ts';
import { editFileTool } from './edit-file.ts';
import { type ExecOptions, execTool } from './exec.ts';
import { findFilesTool } from './find-files.ts';
import { grepTool } from './grep.ts';
import { listDirTool } from './list-dir.ts';
import { readFileTool } from './read-file.ts';
import { type PublishOutbound, sendMessageTool } from './send-message.ts';
import { webFetchTool } from './web-fetch.ts';
import { writeFileTool } from './write-file.ts';

export type { PublishOutbound } from './send-message.ts';

/** `tools.exec`, in nanobot's words. */
export interface ExecToolConfig
  extends Pick<
    ExecOptions,
    'timeoutS' | 'allowedEnvKeys' | 'denyPatterns' | 'allowPatterns' | 'allowLocalServices'
  > {
  /** @defaultValue false */
  readonly enable?: boolean;
}

export interface BuiltinToolsOptions {
  readonly policy: WorkspacePolicy;
  readonly ssrf: SsrfPolicy;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  /** Where `send_message` puts its message; without it there is no such tool. */
  readonly publishOutbound?: PublishOutbound;
  /** IANA zone of `current_time`; the machine's own when left out. */
  readonly timezone?: string | null;
  /** @defaultValue on */
  readonly file?: { readonly enable?: boolean };
  /** @defaultValue on */
  readonly web?: { readonly enable?: boolean; readonly userAgent?: string; readonly timeoutMs?: number };
  /** @defaultValue off */
  readonly exec?: ExecToolConfig;
  /** How `web_fetch` connects; for tests. */
  readonly connector?: ConnectorFactory;
}

/** Disk, processes and network take real time; virtual time waits for them. */
function tracked(tool: Tool, clock: Clock): Tool {
  return { ...tool, execute: (args, options) => clock.track(tool.execute(args, options)) };
}

/** The tools that the options switch on, in the order they are registered. */
export function createBuiltinTools(options: BuiltinToolsOptions): Tool[] {
  const { policy, ssrf, web } = options;
  const clock = options.clock ?? realClock;
  const locks = new PathLocks();
  const tools: Tool[] = [];
  if (options.file?.enable ?? true) {
    tools.push(
      readFileTool(policy),
      writeFileTool(policy, locks),
      editFileTool(policy, locks),
      listDirTool(policy),
      findFilesTool(policy),
      grepTool(policy, clock),
    );
  }
  // Its guard reads POSIX shells only.
  if (options.exec?.enable && process.platform !== 'win32') {
    tools.push(execTool({ ...options.exec, policy, ssrf, clock }));
  }
  if (web?.enable ?? true) {
    tools.push(
      webFetchTool({
        policy: ssrf,
        clock,
        ...(options.connector && { connector: options.connector }),
        ...(web?.userAgent !== undefined && { userAgent: web.userAgent }),
        ...(web?.timeoutMs !== undefined && { timeoutMs: web.timeoutMs }),
      }),
    );
  }
  return [
    ...tools.map((tool) => tracked(tool, clock)),
    currentTimeTool(clock, options.timezone ?? null),
    // Not tracked: the bus may make it wait for a channel, and that for the clock.
    ...(options.publishOutbound ? [sendMessageTool(options.publishOutbound)] : []),
  ];
}
