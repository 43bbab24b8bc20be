import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** Which rooms each room may open the door of. Every room may also use the files that lie in `src/` itself. */
const MAY_USE: Record<string, readonly string[]> = {
  observe: [],
  audio: [],
  speech: ['audio', 'observe'],
  gateway: ['observe'],
  store: ['observe'],
  leg: ['audio', 'observe'],
  approval: ['gateway', 'store', 'audio', 'speech', 'observe'],
  media: ['gateway', 'store', 'leg', 'observe'],
  model: ['audio', 'gateway', 'speech', 'observe'],
  call: ['leg', 'model', 'gateway', 'approval', 'media', 'audio', 'speech', 'store', 'observe'],
  host: ['gateway', 'media', 'store', 'observe'],
  server: ['call', 'approval', 'media', 'leg', 'store', 'observe'],
  channel: [
    'call',
    'approval',
    'media',
    'server',
    'leg',
    'model',
    'gateway',
    'audio',
    'speech',
    'store',
    'observe',
  ],
  // The process that listens: it knows ports and processes, and no call.
  workers: ['observe'],
  bridge: ['channel', 'approval', 'media', 'model', 'gateway', 'store', 'observe'],
  // Built into one file and copied into workspaces: it stands alone.
  plugin: [],
  testing: ['leg', 'model', 'gateway', 'audio'],
  cli: [
    'bridge',
    'workers',
    'channel',
    'host',
    'server',
    'call',
    'approval',
    'media',
    'leg',
    'model',
    'gateway',
    'audio',
    'speech',
    'store',
    'observe',
    'testing',
  ],
};

interface Import {
  readonly file: string;
  readonly target: string;
}

function sourceFiles(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return path.endsWith('.ts') ? [path] : [];
  });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found: Import[] = [];
  for (const match of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'|new URL\(\s*'(\.[^']+\.ts)'/g)) {
    const specifier = match[1] ?? match[2];
    if (specifier) found.push({ file, target: resolve(dirname(file), specifier) });
  }
  return found;
}

const imports = sourceFiles(SRC).flatMap(importsOf);
const roomOf = (path: string): string | null => {
  const parts = relative(SRC, path).split('/');
  return parts.length > 1 ? (parts[0] ?? null) : null;
};
const show = (each: Import) => `${relative(SRC, each.file)} -> ${relative(SRC, each.target)}`;

describe('the rooms of src/', () => {
  it('are all named in the table of directions', () => {
    const rooms = readdirSync(SRC).filter((name) => statSync(join(SRC, name)).isDirectory());
    expect(rooms.filter((room) => !(room in MAY_USE))).toEqual([]);
  });

  it('are entered through their door, index.ts', () => {
    const windows = imports.filter((each) => {
      const from = roomOf(each.file);
      const to = roomOf(each.target);
      if (to === null || to === from) return false;
      // A room has one door; an adapter's folder inside a room has its own.
      return !/^[a-z]+(\/[a-z-]+)?\/index\.ts$/.test(relative(SRC, each.target));
    });
    expect(windows.map(show)).toEqual([]);
  });

  it('are used only in the permitted direction', () => {
    const wrong = imports.filter((each) => {
      const from = roomOf(each.file);
      const to = roomOf(each.target);
      if (from === null || to === null || from === to) return false;
      return !(MAY_USE[from] ?? []).includes(to);
    });
    expect(wrong.map(show)).toEqual([]);
  });

  it('leave adapters strangers to each other', () => {
    const wrong = imports.filter((each) => {
      const from = relative(SRC, each.file).split('/');
      const to = relative(SRC, each.target).split('/');
      const adapters = ['leg', 'model'];
      if (from[0] !== to[0] || !adapters.includes(from[0] ?? '')) return false;
      // What every way from a page to a call has in common; a leg of its own is in there too.
      if (to.join('/') === 'leg/page/index.ts') return false;
      return from.length > 2 && to.length > 2 && from[1] !== to[1];
    });
    expect(wrong.map(show)).toEqual([]);
  });

  it('are read by this test at all', () => {
    expect(imports.length).toBeGreaterThan(5);
  });
});
