/**
 * The package as npm packs and installs it, found by what `npx --no-install` finds: what is published, with nothing of this
 * checkout's. Its dependencies come from npm's registry or cache; without both this says so and is skipped.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { processesOf, ROOT } from './nanobot.ts';
import { NanobotRig } from './rig.ts';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly files: readonly string[];
};
const SOURCES = ['package.json', 'src', 'scripts', 'tsconfig.json', 'tsconfig.build.json'];

/** Builds and packs a copy: a build here would change what others run meanwhile. */
function pack(folder: string): string {
  mkdirSync(folder);
  for (const name of [...SOURCES, ...manifest.files]) {
    if (name === 'dist' || !existsSync(join(ROOT, name))) continue;
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const quiet = { cwd: folder, stdio: 'pipe', encoding: 'utf8' } as const;
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'scripts/build.ts'], quiet);
  const name = execFileSync('npm', ['pack', '--silent', '--ignore-scripts'], quiet).trim();
  return join(folder, name.split('\n').at(-1) ?? '');
}

describe('the packed package in the folder where nanobot runs', () => {
  let rig: NanobotRig | null = null;
  afterAll(() => rig?.remove());

  it('is found by npx in its exact version, answers a call, and leaves nothing', async (context) => {
    let missing = '';
    const npx = execFileSync('/bin/sh', ['-c', 'command -v npx'], { encoding: 'utf8' }).trim();
    rig = await NanobotRig.start({
      realtime: { package: '', node: process.execPath },
      before: ({ folder }) => {
        const tarball = pack(join(folder, 'copy'));
        const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
        try {
          execFileSync('npm', ['install', '--prefix', folder, ...flags, tarball], { stdio: 'pipe' });
        } catch (error) {
          missing = `The dependencies could not be installed: ${error}`;
        }
      },
      // Whatever Node is on the PATH, it is not the one that is to run.
      env: { PATH: `${dirname(npx)}:/usr/bin:/bin` },
    }).catch((error: unknown) => {
      if (missing === '') throw error;
      return null;
    });
    if (!rig) {
      console.log(`Skipped: ${missing}`);
      context.skip();
      return;
    }
    const { output } = rig.gateway;
    expect(output).toContain(
      `Starting the voice process from npx nanobot-channel-realtime@${manifest.version}`,
    );
    const running = processesOf(rig.home.folder).filter((command) => command.includes('nanobot-realtime'));
    expect(running).toContainEqual(expect.stringContaining(join(rig.home.folder, 'node_modules')));
    // Nothing of this checkout but its Node.
    expect(running.filter((command) => command.includes(join(ROOT, 'bin')))).toEqual([]);

    const { outputs } = await rig.voice.place(
      rig.home,
      rig.url,
      'CA0N1',
      [{ name: 'read_file', args: { path: 'note.txt' } }],
      220,
    );

    expect(outputs[0]).toContain('flower pot');
    await rig.stop();
  }, 180_000);
});
