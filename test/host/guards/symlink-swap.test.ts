import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryHandle, readGuarded, walk, writeGuarded } from '../../../src/host/guards/index.ts';
import { makeWorkspace, SECRET, type TestWorkspace } from '../tools/workspace.ts';

let workspace: TestWorkspace;
const at = (path: string) => join(workspace.root, path);

beforeEach(() => {
  workspace = makeWorkspace();
  workspace.write('sub/secret.txt', 'harmless');
});
afterEach(() => workspace.remove());

/** Puts a link to the folder outside where `sub` was. */
function swapFolder(): void {
  renameSync(at('sub'), at('sub-before'));
  symlinkSync(workspace.outside, at('sub'));
}

const outsideNow = () =>
  readdirSync(workspace.outside).map((name) => [name, readFileSync(join(workspace.outside, name), 'utf8')]);

describe('a link put in place between the check and the use', () => {
  it('of the file itself: it is not read', async () => {
    const view = await workspace.policy.view('read');
    const physical = await view.resolve('sub/secret.txt');
    unlinkSync(physical);
    symlinkSync(join(workspace.outside, 'secret.txt'), physical);

    await expect(readGuarded(view, physical, 'sub/secret.txt', 1000)).rejects.toThrow(
      'Path sub/secret.txt changed while it was being opened',
    );
  });

  it('of a folder above it: it is not read', async () => {
    const view = await workspace.policy.view('read');
    const physical = await view.resolve('sub/secret.txt');
    swapFolder();

    await expect(readGuarded(view, physical, 'sub/secret.txt', 1000)).rejects.toThrow('changed while');
  });

  it('of a folder further above: it is not read', async () => {
    workspace.write('sub/deep/er/secret.txt', 'harmless');
    mkdirSync(join(workspace.outside, 'deep/er'), { recursive: true });
    writeFileSync(join(workspace.outside, 'deep/er/secret.txt'), SECRET);
    const view = await workspace.policy.view('read');
    const physical = await view.resolve('sub/deep/er/secret.txt');
    swapFolder();

    await expect(readGuarded(view, physical, 'x', 1000)).rejects.toThrow('changed while');
  });

  it('of the file or a folder: nothing outside is written', async () => {
    const before = outsideNow();
    const view = await workspace.policy.view('write');
    const physical = await view.resolve('sub/secret.txt');
    unlinkSync(physical);
    symlinkSync(join(workspace.outside, 'secret.txt'), physical);
    await expect(writeGuarded(view, physical, 'x', Buffer.from('evil'))).rejects.toThrow('changed while');
    swapFolder();
    await expect(writeGuarded(view, physical, 'x', Buffer.from('evil'))).rejects.toThrow('changed while');

    expect(outsideNow()).toEqual(before);
  });

  it('where a new folder is to be made: nothing outside is made', async () => {
    const before = outsideNow();
    const view = await workspace.policy.view('write');
    const physical = await view.resolve('sub/new/deep/file.txt');
    swapFolder();

    await expect(writeGuarded(view, physical, 'x', Buffer.from('evil'))).rejects.toThrow('changed while');
    expect(outsideNow()).toEqual(before);
  });

  it('of a folder that is walked: its names are not seen', async () => {
    const view = await workspace.policy.view('read');
    workspace.write('a-first/x.txt', '');
    const names: string[] = [];
    for await (const entry of walk(view, workspace.root)) {
      names.push(entry.relative);
      if (entry.relative === 'a-first') swapFolder();
    }

    expect(names).toContain('sub');
    expect(names).not.toContain('sub/secret.txt');
  });

  it('of a folder already open: the open one is the one that counts', async () => {
    const directory = await DirectoryHandle.open(at('sub'));
    swapFolder();
    writeFileSync(join(workspace.outside, 'only-outside.txt'), SECRET);

    const names = (await directory.entries()).map((entry) => entry.name);
    await directory.close();

    expect(names).toEqual(['secret.txt']);
  });

  it('a thousand times while tools read, write and list: nothing gets out', async () => {
    const before = outsideNow();
    // Flips `sub` between a folder and a link outside as fast as it can, on a thread of its own.
    const flipper = new Worker(
      `const { renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs');
       const { workerData, parentPort } = require('node:worker_threads');
       const { sub, outside } = workerData;
       let run = true;
       parentPort.once('message', () => { run = false; });
       const flip = () => {
         for (let i = 0; i < 50; i += 1) {
           renameSync(sub, sub + '-away');
           // A write may have made the missing folder anew in the meantime.
           try { symlinkSync(outside, sub); unlinkSync(sub); } catch {}
           for (let done = false; !done;) {
             try { renameSync(sub + '-away', sub); done = true; } catch {
               try { rmSync(sub, { recursive: true }); } catch {}
             }
           }
         }
         if (run) setImmediate(flip); else process.exit();
       };
       flip();`,
      { eval: true, workerData: { sub: at('sub'), outside: workspace.outside } },
    );
    const outcomes = new Map<string, number>();
    const count = (text: string) => {
      expect(text).not.toContain(SECRET);
      const kind =
        /changed while|outside allowed|not found|harmless|unchanged|Successfully/.exec(text)?.[0] ?? 'other';
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    };

    for (let round = 0; round < 250; round += 1) {
      count(await workspace.text('read_file', { path: 'sub/secret.txt', force: true }));
      count(await workspace.text('write_file', { path: 'sub/written.txt', content: 'x' }));
      count(
        await workspace.text('edit_file', {
          path: 'sub/secret.txt',
          old_text: 'harmless',
          new_text: 'harmless',
        }),
      );
      count(await workspace.text('list_dir', { path: 'sub' }));
    }
    flipper.postMessage('stop');
    await new Promise((resolve) => flipper.once('exit', resolve));

    expect(outsideNow()).toEqual(before);
    // The race was a race: some calls got through and some were refused.
    expect(outcomes.get('harmless') ?? 0).toBeGreaterThan(0);
    const refused = (outcomes.get('changed while') ?? 0) + (outcomes.get('outside allowed') ?? 0);
    expect(refused).toBeGreaterThan(0);
  });
});
