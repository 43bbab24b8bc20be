import { readFileSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DirectoryHandle, readGuarded, writeGuarded } from '../../../src/host/guards/index.ts';
import { makeWorkspace, SECRET, type TestWorkspace } from '../tools/workspace.ts';

// A system without /proc, such as macOS: paths are compared after each open instead.
vi.mock('node:fs', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs')>();
  return { ...real, existsSync: (path: string) => path !== '/proc/self/fd' && real.existsSync(path) };
});

let workspace: TestWorkspace;
beforeEach(() => {
  workspace = makeWorkspace();
  workspace.write('sub/secret.txt', 'harmless');
});
afterEach(() => workspace.remove());

const at = (path: string) => join(workspace.root, path);

describe('the guarded files without descriptor paths', () => {
  it('are what is tested here', async () => {
    const directory = await DirectoryHandle.open(workspace.root);
    expect(directory.child('x')).toBe(at('x'));
    await directory.close();
  });

  it('read, write, edit, list and search all the same', async () => {
    expect(await workspace.text('read_file', { path: 'sub/secret.txt' })).toContain('1| harmless');
    expect(await workspace.text('write_file', { path: 'new/deep/x.txt', content: 'x' })).toContain(
      'Successfully',
    );
    expect(await workspace.text('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'uno' })).toContain(
      'Patch applied',
    );
    expect(await workspace.text('list_dir', { path: '.', recursive: true })).toBe(
      'a.txt\nnew/\nnew/deep/\nnew/deep/x.txt\nsub/\nsub/secret.txt',
    );
    expect(await workspace.text('grep', { pattern: 'harm' })).toContain('sub/secret.txt:1');
    expect(await workspace.text('read_file', { path: '../outside/secret.txt' })).not.toContain(SECRET);
  });

  it('refuse a swapped file and a swapped folder', async () => {
    const view = await workspace.policy.view('write');
    const physical = await view.resolve('sub/secret.txt');
    unlinkSync(physical);
    symlinkSync(join(workspace.outside, 'secret.txt'), physical);
    await expect(readGuarded(view, physical, 'x', 1000)).rejects.toThrow('changed while');
    await expect(writeGuarded(view, physical, 'x', Buffer.from('evil'))).rejects.toThrow('changed while');

    renameSync(at('sub'), at('sub-before'));
    symlinkSync(workspace.outside, at('sub'));
    await expect(readGuarded(view, physical, 'x', 1000)).rejects.toThrow('changed while');
    await expect(writeGuarded(view, physical, 'x', Buffer.from('evil'))).rejects.toThrow('changed while');

    expect(readFileSync(join(workspace.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  });
});
