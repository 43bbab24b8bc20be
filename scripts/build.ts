/**
 * Builds `dist/`: a clean compile, then a look at whether what came out can run.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPlugin } from './build-plugin.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

function run(args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** What is wrong with the files in `dist/`, one line each. */
function faults(): string[] {
  const built = new Set(files(DIST));
  const missing = files(SRC)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => file.replace(/\.ts$/, '.js'))
    .filter((file) => !built.has(file))
    .map((file) => `dist/${file} is missing`);
  const unresolved = [...built]
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const text = readFileSync(join(DIST, file), 'utf8');
      const targets = [...text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g)].map(
        (match) => match[1] ?? '',
      );
      return targets
        .filter((target) => !existsSync(join(DIST, file, '..', target)))
        .map((target) => `dist/${file} imports ${target}, which is not there`);
    });
  return [...missing, ...unresolved];
}

rmSync(DIST, { recursive: true, force: true });
run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json']);
await buildPlugin(DIST);

const found = faults();
if (found.length > 0) {
  console.error(found.join('\n'));
  process.exit(1);
}
// The entry points load in a process of their own, as they would for a user.
for (const entry of ['index.js', 'testing/index.js', 'cli/main.js']) {
  run([
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    `await import('./dist/${entry}')`,
  ]);
}
console.log(`Built ${files(DIST).length} files into dist/.`);
