/**
 * Pipecat in a virtual environment of its own under `node_modules/.cache`, made when it is first wanted. Without Python
 * 3.11 or without a package registry there is none, and the reason is a sentence.
 *
 *     node bench/pipecat/install.ts
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/bench-pipecat', import.meta.url));
const PYTHON = join(FOLDER, 'bin', 'python');
/** What was installed, word for word: another pin makes another environment. */
const MARK = join(FOLDER, 'requirements.txt');
const INSTALL_LIMIT_MS = 300_000;
const IS_NEW_ENOUGH = 'import sys, venv; sys.exit(sys.version_info < (3, 11))';

export type Installed = { readonly python: string } | { readonly whyNot: string };

/** The first that runs: `BENCH_PYTHON`, what the path has, what pyenv has; 3.12 is what Pipecat recommends. */
function findPython(): string | null {
  const versions = ['3.12', '3.13', '3.11'];
  const pyenv = spawnSync('pyenv', ['versions', '--bare'], { encoding: 'utf8' }).stdout ?? '';
  const root = process.env.PYENV_ROOT ?? join(homedir(), '.pyenv');
  const kept = pyenv
    .split('\n')
    .filter((name) => versions.some((version) => name.startsWith(`${version}.`)))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => join(root, 'versions', name, 'bin', 'python'));
  const named = process.env.BENCH_PYTHON;
  const all = [...(named ? [named] : []), ...versions.map((each) => `python${each}`), ...kept, 'python3'];
  return all.find((each) => spawnSync(each, ['-c', IS_NEW_ENOUGH]).status === 0) ?? null;
}

export function installPipecat(say: (line: string) => void = () => {}): Installed {
  const wanted = readFileSync(REQUIREMENTS, 'utf8');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === wanted) return { python: PYTHON };
  const python = findPython();
  if (python === null) return { whyNot: 'there is no Python 3.11 or newer' };
  say('Installing Pipecat under node_modules/.cache (800 MB), once …');
  rmSync(FOLDER, { recursive: true, force: true });
  const made = spawnSync(python, ['-m', 'venv', FOLDER], { encoding: 'utf8' });
  if (made.status !== 0) return failed('Python made no virtual environment', made.stderr);
  const pip = spawnSync(PYTHON, ['-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS], {
    encoding: 'utf8',
    timeout: INSTALL_LIMIT_MS,
  });
  if (pip.status !== 0) return failed('pip did not install it', pip.stderr);
  writeFileSync(MARK, wanted);
  return { python: PYTHON };
}

/** The reason goes into the results, what was printed only to whoever watches. */
function failed(whyNot: string, printed: string | null): Installed {
  process.stderr.write(printed ?? '');
  return { whyNot };
}

if (import.meta.main) {
  const found = installPipecat(console.log);
  console.log('python' in found ? found.python : `Pipecat is left out: ${found.whyNot}.`);
}
