/**
 * `nanobot-realtime bridge`: the voice channel as the child of another agent, over its standard input and output.
 *
 * @module
 */

import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { realClock } from '../clock.ts';
import { EXIT } from './exit-codes.ts';
import { onStopSignals } from './signals.ts';

/** What is left of a process whose host is gone ends within this. */
export const ORPHAN_EXIT_MS = 5000;

const HELP = `
For programs: the host starts this, and speaks JSON-RPC 2.0 over its standard input and output, a message per line. The
wire is described in docs/reference/bridge.md. Logs go to standard error.
`;

export function registerBridge(program: Command): void {
  program
    .command('bridge', { hidden: true })
    .summary('the voice channel as the child of another agent')
    .description('Serves the voice channel to another agent over standard input and output.')
    .addHelpText('after', HELP)
    .action(() => bridge());
}

async function bridge(): Promise<void> {
  const output = protocolOutput();
  if (process.stdin.isTTY) {
    process.stderr.write('This command is for another program to start: docs/reference/bridge.md.\n');
    process.exitCode = EXIT.usage;
    return;
  }
  const signals = onStopSignals((signal) => {
    process.stderr.write(`${signal} again: ending at once.\n`);
    process.exit(EXIT.failed);
  });
  const { startBridge } = await import('./bridge-parts.ts');
  const bridge = startBridge(process.stdin, output);
  void signals.first.then(() => bridge.stop());
  void bridge.hostGone.then(() => {
    // Whatever hangs: nobody is there to end us.
    realClock.setTimeout(() => process.exit(EXIT.ok), ORPHAN_EXIT_MS);
  });
  const { failed } = await bridge.done;
  signals.dispose();
  // The last answer is on its way when the stream has ended; a host that does not read it has its own deadline.
  realClock.setTimeout(() => process.exit(EXIT.failed), ORPHAN_EXIT_MS);
  await new Promise<void>((resolve) => output.end(() => resolve()));
  process.exit(failed ? EXIT.failed : EXIT.ok);
}

/**
 * Standard output for the protocol alone: whatever else writes to it from here on (`console.log`, a library, a worker) goes
 * to standard error.
 */
function protocolOutput(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const output = new Writable({
    // Many small messages become one write when the host is slow.
    highWaterMark: 64 * 1024,
    write: (chunk: Uint8Array, _encoding, done) => void write(chunk, done),
  });
  process.stdout.on('error', (error) => output.destroy(error));
  return output;
}
