/**
 * What the commands that ask the running gateway have in common: their options, and how they print.
 *
 * @module
 */

import type { Command } from 'commander';
import { type GatewayFlags, OPERATOR_VARIABLE } from './gateway-client.ts';

export interface GatewayCommandFlags extends GatewayFlags {
  readonly json?: boolean;
}

/** A command of the group, with the options that each has. */
export function gatewayCommand(group: Command, name: string, text: string): Command {
  return group
    .command(name)
    .description(text)
    .option(
      '-c, --config <file>',
      'nanobot’s config file, to find the gateway (default: ~/.nanobot/config.json)',
    )
    .option('--url <address>', 'where the gateway listens, instead of what the config says')
    .option('--token-file <file>', `file with the operator’s token, instead of ${OPERATOR_VARIABLE}`)
    .option('--json', 'print JSON');
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** UTC, to the second. */
export const timeText = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
