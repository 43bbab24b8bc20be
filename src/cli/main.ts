/**
 * The command line: `nanobot-realtime <command>`. Each command has a file of its own, and only the one that was
 * asked for is loaded.
 *
 * @module
 */

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { errorText, exitCodeOf } from './report.ts';
import { packageVersion } from './version.ts';

interface CommandEntry {
  /** Its line in the list of commands; its own file has the rest. */
  readonly summary: string;
  /** For programs, not for people: not listed. */
  readonly hidden?: boolean;
  /** Loads what registers it. */
  readonly load: () => Promise<(program: Command) => void>;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  start: {
    summary: 'take calls until told to stop',
    load: async () => (await import('./start.ts')).registerStart,
  },
  approvals: {
    summary: 'see and decide what waits for a person',
    load: async () => (await import('./approvals.ts')).registerApprovals,
  },
  page: {
    summary: 'links with which guests call from a web page',
    load: async () => (await import('./page.ts')).registerPage,
  },
  outbox: {
    summary: 'what was sent to callers, and what got stuck',
    load: async () => (await import('./outbox.ts')).registerOutbox,
  },
  bridge: {
    summary: 'the voice channel as the child of another agent',
    hidden: true,
    load: async () => (await import('./bridge.ts')).registerBridge,
  },
  demo: {
    summary: 'a recorded caller phones in: no key, no network',
    load: async () => (await import('./demo.ts')).registerDemo,
  },
};

const EXAMPLES = `
Examples:
  $ nanobot-realtime demo                        a recorded caller phones in; no key, no network
  $ nanobot-realtime start                       listen on 127.0.0.1:8787 with ~/.nanobot/config.json
  $ nanobot-realtime start --config ./phone.json --port 9000
  $ nanobot-realtime start --help                what a command can do

Exit codes:
  0 ended as asked   1 failed   2 wrong command line   69 not available now   78 wrong configuration
`;

async function createProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('nanobot-realtime')
    .description('Call your AI agent by phone: a realtime voice channel with the agent’s own guarded tools.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or that of a command')
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(--help says what there is)')
    .exitOverride();
  // Sub-commands copy what is set above when they are made, so all of that comes first.
  const asked = argv.slice(2).find((word) => Object.hasOwn(COMMANDS, word));
  for (const [name, { summary, hidden = false, load }] of Object.entries(COMMANDS)) {
    if (asked === name) (await load())(program);
    else if (!hidden) program.command(name).summary(summary);
  }
  return program;
}

/** Runs the command of `argv` (with `node` and the script in front) and sets the process's exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  // Whoever read what is printed may have gone; that ends no calls.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    const program = await createProgram(argv);
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = reported(error);
  }
}

function reported(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it already; help and version are no errors.
    return error.exitCode === 0 || error.code === 'commander.help' ? EXIT.ok : EXIT.usage;
  }
  process.stderr.write(errorText(error));
  return exitCodeOf(error);
}

const script = process.argv[1];
if (script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url)) {
  await main(process.argv);
}
