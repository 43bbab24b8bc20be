/**
 * Runs after `npm ci` in a clone: builds the pages. Where the tools are left out (`npm ci --omit=dev`) it says so and
 * goes on: the gateway works without pages.
 */
import { fileURLToPath } from 'node:url';

const configFile = fileURLToPath(new URL('../web/vite.config.ts', import.meta.url));
let vite = null;
try {
  vite = await import('vite');
} catch {
  console.warn(
    'The pages are not built: the development dependencies are not here (npm run build:web makes them).',
  );
}
if (vite) await vite.build({ configFile, logLevel: 'warn' });
