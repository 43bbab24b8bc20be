/**
 * `nanobot-realtime start`: the gateway, until it is told to stop.
 *
 * @module
 */

import { flushCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { MAX_WORKERS } from '../worker-slot.ts';
import { banner } from './banner.ts';
import { EXIT } from './exit-codes.ts';
import { onStopSignals } from './signals.ts';
import { packageVersion } from './version.ts';

interface StartFlags {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly workers?: number;
}

const HELP = `
What it needs
  Nothing: without a config file the defaults apply, and without OPENAI_API_KEY the model is the offline one.
  A phone number wants more: docs/guides/twilio.md, and docs/reference/config.md for every key.

Environment
  OPENAI_API_KEY      the model is OpenAI's (or as channels.realtime.model says)
  TWILIO_AUTH_TOKEN   checks that webhooks come from Twilio
  TWILIO_ACCOUNT_SID  with it, calls are also ended, transferred and sent keys at Twilio

Signals
  SIGTERM, Ctrl+C     takes no new calls, lets the running ones end within server.drainTimeoutS; /readyz says 503
  a second one        ends at once

Examples:
  $ nanobot-realtime start
  $ nanobot-realtime start --port 9000
  $ nanobot-realtime start --config ./phone.json
  $ nanobot-realtime start --workers auto
  $ OPENAI_API_KEY=… TWILIO_AUTH_TOKEN=… nanobot-realtime start
`;

export function registerStart(program: Command): void {
  program
    .command('start')
    .summary('take calls until told to stop')
    .description('Listens for calls, and connects each to the model and to the agent’s guarded tools.')
    .option('-c, --config <file>', 'nanobot’s config file (default: ~/.nanobot/config.json)')
    .option('--host <address>', 'address to listen on, instead of channels.realtime.server.host')
    .option('-p, --port <number>', 'port to listen on, instead of channels.realtime.server.port', portNumber)
    .option(
      '-w, --workers <n|auto>',
      'spread calls over so many processes; auto: as many as there are cores (default: one process does it all)',
      workerCount,
    )
    .addHelpText('after', HELP)
    .action((flags: StartFlags) => start(flags));
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return port;
}

function workerCount(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS);
  const count = Number(text);
  if (!/^[1-9]\d*$/.test(text) || count > MAX_WORKERS)
    throw new InvalidArgumentError(`Workers are a number from 1 to ${MAX_WORKERS}, or auto.`);
  return count;
}

async function start(flags: StartFlags): Promise<void> {
  const signals = onStopSignals((signal) => {
    process.stderr.write(`${signal} again: ending at once.\n`);
    // Workers end with the channel to this process.
    process.exit(EXIT.failed);
  });
  try {
    if (flags.workers !== undefined) {
      const { startWorkers } = await import('./start-workers.ts');
      await startWorkers({ ...flags, workers: flags.workers }, signals);
      return;
    }
    const { beginSqliteThread } = await import('../store/index.ts');
    // Its thread takes as long to load as all the rest; nearly everybody has this database.
    beginSqliteThread();
    const { compose } = await import('./compose.ts');
    const gateway = await compose(flags);
    process.stdout.write(banner({ version: packageVersion(), ...gateway.facts }));
    // What was compiled is kept now: a process that is killed writes nothing.
    flushCompileCache();
    const signal = await signals.first;
    process.stdout.write(`${signal}: no new calls; ${gateway.activeCalls()} running.\n`);
    await gateway.close();
  } finally {
    signals.dispose();
  }
}
