/**
 * `nanobot-realtime demo`: a recorded caller phones in and reaches the agent's tools, with no key and no network.
 *
 * @module
 */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { demoClips, recordingAsClips } from './demo/caller.ts';
import { runDemoCall } from './demo/run.ts';
import { DemoView, terminalStyle } from './demo/view.ts';

interface DemoFlags {
  readonly fast?: boolean;
  readonly caller?: string;
  readonly out: string;
}

const HELP = `
A recorded caller asks the time, asks for the files in the workspace, has one read to them, asks for one outside the
workspace (and hears that refused), wants a file deleted (and says no when asked to approve it, then keys in the code),
talks over a long answer, and says goodbye. Speech is recognised and made on this
machine; the tools are the agent's own, behind their guards, in a workspace of the demo's own.

It leaves  <out>/<call id>/call.wav   stereo, 8 kHz: caller left, agent right
                          call.json  the call record
                          call.html  both on one time axis; opens from disk

Examples:
  $ nanobot-realtime demo
  $ nanobot-realtime demo --fast                    the same on virtual time, in a few seconds
  $ nanobot-realtime demo --caller my-question.ogg  your own recording (WAV, Ogg or WebM Opus) as the caller
`;

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .summary('a recorded caller phones in: no key, no network')
    .description('Plays a whole call on this machine, shows it as it happens, and records it.')
    .option('--fast', 'on virtual time: as fast as this machine computes')
    .option('--caller <file>', 'a recording to use as the caller')
    .option('-o, --out <folder>', 'where the recording goes', 'demo-output')
    .addHelpText('after', HELP)
    .action((flags: DemoFlags) => demo(flags));
}

async function demo(flags: DemoFlags): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const style = terminalStyle(process.stdout.isTTY === true, process.env);
  print('A recorded caller phones in. Offline model, offline voice, the agent’s own guarded tools.');
  print(flags.fast ? 'On virtual time.\n' : 'In real time, about two minutes.\n');
  const { loadAudio } = await import('../audio/index.ts');
  await loadAudio();
  const clips =
    flags.caller === undefined ? await demoClips() : await recordingAsClips(resolve(flags.caller));
  const result = await runDemoCall({
    fast: flags.fast ?? false,
    out: resolve(flags.out),
    clips,
    watch: (clock) => {
      const view = new DemoView({ clock, style, print });
      return { progress: (progress) => view.show(progress), view };
    },
  });
  result.view.summary(result.record, `${flags.out}/${result.record.id}`, result.tookMs);
}
