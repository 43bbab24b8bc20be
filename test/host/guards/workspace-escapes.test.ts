import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWithin, resolvePhysical } from '../../../src/host/guards/index.ts';
import { makeWorkspace, SECRET, type TestWorkspace } from '../tools/workspace.ts';

const PACKAGE = dirname(fileURLToPath(new URL('../../../package.json', import.meta.url)));

let workspace: TestWorkspace;

beforeAll(() => {
  workspace = makeWorkspace({ reservedRoots: ['ws/data', 'ws/config.json', 'elsewhere'] });
  const { root, outside, base } = workspace;
  const at = (path: string) => join(root, path);
  mkdirSync(at('sub/deep'), { recursive: true });
  mkdirSync(join(base, 'home'));
  mkdirSync(join(base, 'elsewhere'));
  writeFileSync(join(base, 'home/secret.txt'), SECRET);
  writeFileSync(join(base, 'elsewhere/secret.txt'), SECRET);
  writeFileSync(at('sub/inside.txt'), 'inside');
  // Links of every kind that lead out.
  symlinkSync(join(outside, 'secret.txt'), at('file-link'));
  symlinkSync('../outside/secret.txt', at('relative-file-link'));
  symlinkSync(outside, at('folder-link'));
  symlinkSync('../outside', at('relative-folder-link'));
  symlinkSync('file-link', at('chained-link'));
  symlinkSync('../../folder-link', at('sub/deep/up-link'));
  symlinkSync('/', at('root-link'));
  symlinkSync('..', at('parent-link'));
  symlinkSync('sub/../..', at('dotted-link'));
  symlinkSync('/proc/self/environ', at('environ-link'));
  symlinkSync('/proc/self/cwd', at('cwd-link'));
  symlinkSync('/proc/self/root', at('procroot-link'));
  symlinkSync('/dev/zero', at('zero-link'));
  symlinkSync(join(outside, 'new.txt'), at('dangling-link'));
  symlinkSync('loop-b', at('loop-a'));
  symlinkSync('loop-a', at('loop-b'));
  execFileSync('mkfifo', [at('fifo')]);
  // Reserved, though inside the workspace.
  mkdirSync(at('data'));
  writeFileSync(at('data/secret.txt'), SECRET);
  writeFileSync(at('config.json'), SECRET);
  linkSync(at('config.json'), at('hard-link.json'));
  symlinkSync('data', at('data-link'));
});
afterAll(() => workspace.remove());

/** Paths that must not be reached; `~` is `<base>/home`, `$O` the folder outside, `$W` the workspace. */
const ESCAPES: readonly string[] = [
  // Up and out.
  '..',
  '../outside/secret.txt',
  '../../../../../../../../etc/passwd',
  'sub/../../outside/secret.txt',
  'sub/deep/../../../outside/secret.txt',
  './../outside/secret.txt',
  'missing/../../outside/secret.txt',
  'a.txt/../../outside/secret.txt',
  '..//outside//secret.txt',
  '.././outside/./secret.txt',
  // Absolute.
  '/etc/passwd',
  '/',
  '//etc/passwd',
  '/etc/../etc/passwd',
  '$O/secret.txt',
  '$W/../outside/secret.txt',
  '$W/sub/../../outside/secret.txt',
  // Home.
  '~',
  '~/secret.txt',
  '~/../outside/secret.txt',
  '~root/.profile',
  '~nobody',
  // Siblings with the same prefix.
  '$W-evil',
  '$W-evil/secret.txt',
  '../ws-evil/secret.txt',
  // Links.
  'file-link',
  'relative-file-link',
  'folder-link',
  'folder-link/secret.txt',
  'relative-folder-link/secret.txt',
  'folder-link/../outside/secret.txt',
  'chained-link',
  'sub/deep/up-link/secret.txt',
  'root-link/etc/passwd',
  'root-link',
  'parent-link/outside/secret.txt',
  'dotted-link/outside/secret.txt',
  'dangling-link',
  'folder-link/new.txt',
  'loop-a',
  'loop-a/secret.txt',
  // Devices and the kernel.
  '/dev/zero',
  '/dev/stdin',
  '/dev/fd/0',
  'zero-link',
  'fifo',
  '/proc/self/environ',
  '/proc/self/mem',
  '/proc/self/fd/0',
  '/proc/self/cwd/package.json',
  join('/proc/self/root', 'etc/passwd'),
  '/proc/1/environ',
  '/sys/kernel/notes',
  'environ-link',
  'cwd-link/package.json',
  'procroot-link/etc/passwd',
  // Reserved roots inside and outside.
  'data',
  'data/secret.txt',
  'data/../data/secret.txt',
  'data-link/secret.txt',
  'config.json',
  'hard-link.json',
  '../elsewhere/secret.txt',
  `${PACKAGE}/package.json`,
  `${PACKAGE}/src/index.ts`,
  // Not paths at all.
  'a.txt\0',
  '../outside/secret.txt\0.txt',
  '\0',
  `${'x/'.repeat(3000)}y`,
  'x'.repeat(5000),
];

/** Other spellings, which are names like any other here: they lead nowhere and stay inside. */
const LITERALS: readonly string[] = [
  '..\\outside\\secret.txt',
  '%2e%2e/outside/secret.txt',
  '..%2foutside%2fsecret.txt',
  'file:///etc/passwd',
  'file://localhost/etc/passwd',
  '$HOME/secret.txt',
  '$(pwd)/outside',
  '\u2025/outside/secret.txt',
  '\uff0e\uff0e/outside/secret.txt',
  '.../outside/secret.txt',
  ' ../outside/secret.txt',
  'C:\\Windows\\win.ini',
  '\\\\server\\share',
];

const real = (path: string) => path.replace(/^\$W/, workspace.root).replace(/^\$O/, workspace.outside);

const show = (path: string) => JSON.stringify(path.length > 60 ? `${path.slice(0, 60)}…` : path);

/** Whether a path ends, links followed, in the temporary folder of this test, so that a write can do no harm. */
async function leadsIntoBase(path: string): Promise<boolean> {
  const given = real(path);
  const absolute = isAbsolute(given) ? given : `${workspace.root}/${given}`;
  try {
    return isWithin(await resolvePhysical(absolute), workspace.base);
  } catch {
    return false;
  }
}

/** Everything outside the workspace, and what is reserved inside, as it is now. */
function guarded(): string {
  const folders = [
    workspace.outside,
    `${workspace.root}-evil`,
    `${workspace.base}/home`,
    `${workspace.root}/data`,
  ];
  const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return [...files, `${workspace.root}/config.json`]
    .map((path) => `${path}=${readFileSync(path, 'utf8')}`)
    .join('\n');
}

const CANARIES = [SECRET, 'root:x:0:0', 'PATH=', '"nanobot-channel-realtime"'];

function expectNothingOf(text: string): void {
  for (const canary of CANARIES) expect(text).not.toContain(canary);
}

describe('a path that leads out of the workspace', () => {
  it('has at least 40 spellings here', () => {
    expect(new Set(ESCAPES).size).toBe(ESCAPES.length);
    expect(ESCAPES.length).toBeGreaterThanOrEqual(40);
  });

  it.each(ESCAPES.map((path) => [show(path), path] as const))('%s is not read', async (_name, path) => {
    const result = await workspace.call('read_file', { path: real(path) });

    expect(result.isError).toBe(true);
    expectNothingOf(JSON.stringify(result.content));
  });

  it.each(ESCAPES.map((path) => [show(path), path] as const))(
    '%s is not listed, found or searched',
    async (_name, path) => {
      const calls = [
        ['list_dir', { path: real(path) }],
        ['list_dir', { path: real(path), recursive: true, max_entries: 50 }],
        ['find_files', { path: real(path), head_limit: 50 }],
      ] as const;
      for (const [name, args] of calls) {
        const text = await workspace.text(name, args);
        expect(text).not.toContain('secret.txt\n');
        expect(text).not.toMatch(/(?:^|\n|📄 )secret\.txt/);
        expect(text).not.toContain('passwd\n');
      }
    },
  );

  it('is not searched either', async () => {
    for (const path of ESCAPES) {
      const args = { path: real(path), pattern: 'e', output_mode: 'content' };
      expectNothingOf(await workspace.text('grep', args));
    }
  });

  it.each(ESCAPES.map((path) => [show(path), path] as const))('%s is not written', async (_name, path) => {
    const view = await workspace.policy.view('write');
    // A guard that fails must fail this test, not the machine it runs on: only what lies in our own temporary
    // folder is really written to; of the rest the policy is asked.
    if (!(await leadsIntoBase(path))) {
      await expect(view.resolve(real(path))).rejects.toThrow();
      return;
    }
    const before = guarded();

    const write = await workspace.call('write_file', { path: real(path), content: 'overwritten' });
    const edit = await workspace.call('edit_file', {
      path: real(path),
      old_text: 'the-',
      new_text: 'overwritten',
    });
    const create = await workspace.call('edit_file', { path: real(path), old_text: '', new_text: 'created' });

    expect([write.isError, edit.isError, create.isError]).toEqual([true, true, true]);
    for (const result of [write, edit, create]) expectNothingOf(JSON.stringify(result.content));
    expect(guarded()).toBe(before);
  });

  it.each(LITERALS.map((path) => [show(path), path] as const))(
    '%s is only an odd name inside',
    async (_name, path) => {
      const before = guarded();

      const view = await workspace.policy.view('write');
      // Known before anything is written, for the same reason as above.
      const resolved = await view.resolve(path);
      expect(resolved.startsWith(`${workspace.root}/`)).toBe(true);

      const read = await workspace.call('read_file', { path });
      const write = await workspace.text('write_file', { path, content: 'x' });

      expect(read.isError).toBe(true);
      expectNothingOf(JSON.stringify(read.content));
      expect(write.startsWith('Successfully')).toBe(true);
      expect(write).toContain(` to ${workspace.root}/`);
      expect(guarded()).toBe(before);
    },
  );

  it('stays hidden when the whole workspace is listed and searched', async () => {
    const listed = await workspace.text('list_dir', { path: '.', recursive: true });
    const found = await workspace.text('find_files', { head_limit: 0, include_dirs: true });
    const grepped = await workspace.text('grep', { pattern: '.', output_mode: 'content' });

    for (const text of [listed, found]) {
      expect(text).not.toMatch(/(?:^|\n)(?:data|config\.json)(?:\/|\n|$)/);
      expect(text).not.toMatch(/(?:^|\n)(?:data|outside|data-link|folder-link)\/secret\.txt/);
    }
    expectNothingOf(grepped);
    expect(grepped).toContain('sub/inside.txt');
  });
});

describe('without the restriction', () => {
  it('files outside are open, and what is reserved is not', async () => {
    const free = { restrict: false } as const;
    const open = await workspace.text('read_file', { path: real('$O/secret.txt') }, free);
    expect(open).toContain(SECRET);

    const reserved = [
      'data/secret.txt',
      'config.json',
      'hard-link.json',
      '../elsewhere/secret.txt',
      '/proc/self/environ',
      '/dev/zero',
      'environ-link',
      `${PACKAGE}/package.json`,
      `${PACKAGE}/src/errors.ts`,
      `${PACKAGE}/node_modules/zod/package.json`,
    ];
    for (const path of reserved) {
      const read = await workspace.call('read_file', { path }, free);
      expect([path, read.isError]).toEqual([path, true]);
      expectNothingOf(JSON.stringify(read.content));
    }
    for (const path of reserved.filter((each) => !each.startsWith('/'))) {
      if (!(await leadsIntoBase(path))) continue;
      const write = await workspace.call('write_file', { path, content: 'overwritten' }, free);
      expect([path, write.isError]).toEqual([path, true]);
    }
    expect(guarded()).not.toContain('overwritten');
  });
});

describe('outside a guarded call', () => {
  it('the default workspace holds, restricted', async () => {
    const inside = await workspace.registry.execute('read_file', { path: 'a.txt' });
    const outside = await workspace.registry.execute('read_file', { path: real('$O/secret.txt') });

    expect(inside.isError).toBe(false);
    expect(outside.isError).toBe(true);
    expectNothingOf(JSON.stringify(outside.content));
  });
});
