/**
 * `exec`: a shell command in the workspace. Off by default; a filter on its text is not a sandbox.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { currentWorkspaceScope, type ToolResult } from '../../gateway/index.ts';
import { type CommandGuardOptions, commandRefusal } from '../guards/command-guard.ts';
import {
  EXEC_BOUNDARY_NOTE,
  resolvePhysical,
  type SsrfPolicy,
  type WorkspacePolicy,
  type WorkspaceView,
} from '../guards/index.ts';
import { type Tool, type ToolArguments, toolError, toolText } from '../registry-tool.ts';
import { integerArg, strictParameters, textArg } from './arguments.ts';
import { runCommand } from './exec-process.ts';

/** Seconds a command may run when neither the call nor the config says. */
export const DEFAULT_EXEC_TIMEOUT_S = 60;

/** Most seconds a call may ask for. */
export const MAX_EXEC_TIMEOUT_S = 600;

/** Most characters of a result. */
export const MAX_EXEC_CHARS = 10_000;

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface ExecOptions extends CommandGuardOptions {
  readonly policy: WorkspacePolicy;
  readonly ssrf: SsrfPolicy;
  readonly clock: Clock;
  /** @defaultValue `DEFAULT_EXEC_TIMEOUT_S` */
  readonly timeoutS?: number;
  /** Variables of our own environment that a command may see. Keys are not among them unless named here. */
  readonly allowedEnvKeys?: readonly string[];
  /** Lets an unrestricted turn of the channel `websocket` name loopback URLs. */
  readonly allowLocalServices?: boolean;
}

/** `HOME` is the workspace: the person's own dot files are none of a command's business. */
function minimalEnv(workspace: string, allowedKeys: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {
    HOME: workspace,
    LANG: process.env.LANG ?? 'C.UTF-8',
    TERM: 'dumb',
    PATH: SYSTEM_PATH,
  };
  for (const key of allowedKeys) {
    const value = process.env[key];
    if (value !== undefined) env[key] = value;
  }
  return env;
}

/** The one channel that may ever reach loopback, and only unrestricted. */
function scopeAllowsLoopback(): boolean {
  const scope = currentWorkspaceScope();
  return scope?.sourceChannel === 'websocket' && !scope.restrictToWorkspace;
}

async function workingDirectory(view: WorkspaceView, asGiven: string | null): Promise<string | null> {
  if (asGiven === null || asGiven === '') return view.root;
  try {
    const physical = await resolvePhysical(view.absolute(asGiven));
    return view.allows(physical) ? physical : null;
  } catch {
    return null;
  }
}

function clipped(text: string): string {
  if (text.length <= MAX_EXEC_CHARS) return text;
  const half = MAX_EXEC_CHARS / 2;
  const dropped = (text.length - MAX_EXEC_CHARS).toLocaleString('en-US');
  return `${text.slice(0, half)}\n\n... (${dropped} chars truncated) ...\n\n${text.slice(-half)}`;
}

async function run(options: ExecOptions, args: ToolArguments, signal: AbortSignal): Promise<ToolResult> {
  const command = textArg(args, 'command') ?? '';
  if (command.trim() === '') return toolError('Error: Missing command. Provide command.');
  const view = await options.policy.view('write');
  const cwd = await workingDirectory(view, textArg(args, 'working_dir'));
  if (cwd === null) {
    return toolError(`Error: working_dir is outside the configured workspace${EXEC_BOUNDARY_NOTE}`);
  }
  const refusal = await commandRefusal(command, cwd, view, options.ssrf, {
    ...options,
    allowLoopback: options.allowLocalServices === true && scopeAllowsLoopback(),
  });
  if (refusal !== null) return toolError(refusal);
  signal.throwIfAborted();
  const wantedS = integerArg(args, 'timeout') ?? options.timeoutS ?? DEFAULT_EXEC_TIMEOUT_S;
  const timeoutS = Math.min(wantedS, MAX_EXEC_TIMEOUT_S);
  const outcome = await runCommand({
    command,
    cwd,
    env: minimalEnv(view.root, options.allowedEnvKeys ?? []),
    timeoutMs: timeoutS * 1000,
    signal,
    clock: options.clock,
  });
  switch (outcome.kind) {
    case 'exited': {
      const parts = [
        ...(outcome.stdout === '' ? [] : [outcome.stdout]),
        ...(outcome.stderr.trim() === '' ? [] : [`STDERR:\n${outcome.stderr}`]),
        `\nExit code: ${outcome.code ?? 'killed'}`,
      ];
      return toolText(clipped(parts.join('\n')));
    }
    case 'timed-out':
      return toolError(`Error: Command timed out after ${timeoutS} seconds`);
    case 'aborted':
      return toolError('Error: Command was cancelled');
    case 'failed':
      return toolError(`Error executing command: ${outcome.message}`);
    default:
      return outcome satisfies never;
  }
}

export function execTool(options: ExecOptions): Tool {
  return {
    name: 'exec',
    description:
      'Run a shell command in the workspace and return its output. Not interactive: pass -y or --yes where a ' +
      'program would ask. Use the file tools to look at files and change them.',
    parameters: strictParameters(
      {
        command: { type: 'string', description: 'The command' },
        working_dir: { type: 'string', description: 'Folder to run it in (default: the workspace)' },
        timeout: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_EXEC_TIMEOUT_S,
          description: `Seconds before it is stopped (default ${DEFAULT_EXEC_TIMEOUT_S}, at most ${MAX_EXEC_TIMEOUT_S})`,
        },
      },
      ['command'],
    ),
    exclusive: true,
    execute: (args, { signal }) => run(options, args, signal),
  };
}
