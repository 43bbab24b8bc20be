/** Before the tests: the pages are built anew when anything that they are made of is newer. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function newest(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('/dist'))
    .reduce((latest, entry) => Math.max(latest, statSync(`${entry.parentPath}/${entry.name}`).mtimeMs), 0);
}

export default async function buildPages(): Promise<void> {
  const made = `${ROOT}web/dist/operate.html`;
  const builtAt = existsSync(made) ? statSync(made).mtimeMs : 0;
  const sources = ['web', 'src/leg/page', 'src/observe'].map((folder) => newest(ROOT + folder));
  if (Math.max(...sources) <= builtAt) return;
  const before = process.env.NODE_ENV;
  // As it is shipped, not as a test's: Vite looks at this.
  process.env.NODE_ENV = 'production';
  try {
    await build({ configFile: `${ROOT}web/vite.config.ts`, logLevel: 'warn', mode: 'production' });
  } finally {
    process.env.NODE_ENV = before;
  }
}
