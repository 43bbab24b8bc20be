/**
 * Builds the Agent Plugin's MCP server into one file: a plugin is copied into a workspace without its dependencies.
 *
 * @module
 */

import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export const PLUGIN_SERVER = 'mcp-server.mjs';
/** The licences of what went into it, which have to go with it. */
export const PLUGIN_LICENCES = 'mcp-server.licences.md';

/** @param folder - where `mcp-server.mjs` is written */
export async function buildPlugin(folder: string): Promise<void> {
  await build({
    root: fileURLToPath(new URL('../', import.meta.url)),
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node22',
      outDir: folder,
      emptyOutDir: false,
      license: { fileName: PLUGIN_LICENCES },
      rolldownOptions: {
        input: fileURLToPath(new URL('../src/plugin/main.ts', import.meta.url)),
        output: { entryFileNames: PLUGIN_SERVER, format: 'es', codeSplitting: false },
      },
    },
  });
}
