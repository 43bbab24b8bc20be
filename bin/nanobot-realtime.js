#!/usr/bin/env node

// Runs on any Node that knows ES modules, as far as the first import: it ends an old Node with a clear message.
import './check-node.js';
import { existsSync } from 'node:fs';
// As a whole: an old Node lacks some of what is in it, and would fail before it can say so.
import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

// `node:sqlite` and type stripping call themselves experimental; that is for us to know, not for every start to
// say. The package's scripts pass --disable-warning, which an old Node would not understand in a "#!" line.
const emitWarning = process.emitWarning;
process.emitWarning = (warning, ...rest) => {
  const type = typeof rest[0] === 'object' ? rest[0]?.type : rest[0];
  if (type !== 'ExperimentalWarning') emitWarning.call(process, warning, ...rest);
};

// A checkout has its sources, and they are never older than dist/; a package has dist/ alone.
const source = new URL('../src/cli/main.ts', import.meta.url);
const main = existsSync(source) ? source : new URL('../dist/cli/main.js', import.meta.url);

// The next start reads what this one has compiled. Beside the code that it is made of, where whoever could change it
// could change the code; where that folder can't be written there is no cache, and nothing else is different.
if (process.env.NODE_COMPILE_CACHE === undefined)
  nodeModule.enableCompileCache(
    fileURLToPath(new URL('../node_modules/.cache/nanobot-realtime', import.meta.url)),
  );

import(main.href).then(
  ({ main: run }) => run(process.argv),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
