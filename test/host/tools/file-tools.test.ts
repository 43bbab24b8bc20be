import { chmodSync, existsSync, lstatSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_EDIT_BYTES } from '../../../src/host/tools/edit-file.ts';
import { MAX_READ_BYTES, MAX_READ_CHARS } from '../../../src/host/tools/read-file.ts';
import { makeWorkspace, type TestWorkspace } from './workspace.ts';

let workspace: TestWorkspace;
beforeEach(() => {
  workspace = makeWorkspace();
});
afterEach(() => workspace.remove());

const at = (path: string) => join(workspace.root, path);

describe('read_file', () => {
  it('numbers lines, pages, and says where to go on', async () => {
    workspace.write('n.txt', Array.from({ length: 5 }, (_, index) => `line ${index + 1}`).join('\n'));

    expect(await workspace.text('read_file', { path: 'n.txt' })).toBe(
      '1| line 1\n2| line 2\n3| line 3\n4| line 4\n5| line 5\n\n(End of file — 5 lines total)',
    );
    expect(await workspace.text('read_file', { path: 'n.txt', offset: 2, limit: 2 })).toBe(
      '2| line 2\n3| line 3\n\n(Showing lines 2-3 of 5. Use offset=4 to continue.)',
    );
    expect(await workspace.text('read_file', { path: 'n.txt', offset: 6 })).toContain(
      'Error: offset 6 is beyond end of file (5 lines)',
    );
  });

  it('knows empty, binary, missing and too large files', async () => {
    workspace.write('empty.txt', '');
    workspace.write('binary.dat', Buffer.from([0xff, 0xfe, 0x00]));
    workspace.write('large.txt', Buffer.alloc(MAX_READ_BYTES + 1, 'x'));
    workspace.write('folder/x', '');
    const read = (path: string) => workspace.text('read_file', { path });

    expect(await read('empty.txt')).toBe('(Empty file: empty.txt)');
    expect(await read('binary.dat')).toContain('Error: Cannot read binary file binary.dat');
    expect(await read('large.txt')).toContain('Error: File too large to read (4.0 MiB). Maximum is 4 MiB.');
    expect(await read('none.txt')).toContain('Error: File not found: none.txt');
    expect(await read('folder')).toContain('Error: Not a file: folder');
    expect(await read('a.txt/below')).toContain('Error: File not found: a.txt/below');
    expect(await read('')).toContain('Error reading file: Unknown path');
  });

  it('cuts lines where Python does', async () => {
    workspace.write('odd.txt', 'a\u2028b\fc\rd\r\ne\x85f\n');

    expect(await workspace.text('read_file', { path: 'odd.txt', offset: 2, limit: 4 })).toBe(
      '2| b\n3| c\n4| d\n5| e\n\n(Showing lines 2-5 of 6. Use offset=6 to continue.)',
    );
  });

  it('ends a result at the character limit and says at which line', async () => {
    workspace.write('wide.txt', `${'x'.repeat(1000)}\n`.repeat(300));

    const text = await workspace.text('read_file', { path: 'wide.txt' });

    expect(text.length).toBeLessThan(MAX_READ_CHARS + 200);
    expect(text).toMatch(/\(Showing lines 1-(\d+) of 300\. Use offset=\d+ to continue\.\)$/);
  });

  it('returns an image as an image', async () => {
    workspace.write('p.png', Buffer.from('89504e470d0a1a0a', 'hex'));

    expect((await workspace.call('read_file', { path: 'p.png' })).content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      { type: 'text', text: '(Image file: p.png)' },
    ]);
  });

  it('shows a file again when it changed, was touched, another window is asked for, or it is forced', async () => {
    const read = (args = {}) => workspace.text('read_file', { path: 'a.txt', ...args });
    const unchanged = '[File unchanged since last read: a.txt]';
    await read();

    expect(await read({ limit: 1 })).not.toBe(unchanged);
    expect(await read()).not.toBe(unchanged);
    expect(await read()).toBe(unchanged);
    expect(await read({ force: 'true' })).not.toBe(unchanged);
    utimesSync(at('a.txt'), 1, 1);
    expect(await read()).not.toBe(unchanged);
    workspace.write('a.txt', 'changed');
    expect(await read()).toContain('changed');
    expect(await read()).toBe(unchanged);
  });

  it('keeps what one session read from another', async () => {
    await workspace.text('read_file', { path: 'a.txt' }, { session: 'one' });

    expect(await workspace.text('read_file', { path: 'a.txt' }, { session: 'two' })).toContain('1| one');
    expect(await workspace.text('read_file', { path: 'a.txt' }, { session: 'one' })).toContain('unchanged');
  });
});

describe('write_file', () => {
  it('makes folders, counts characters and names the file by its real path', async () => {
    expect(await workspace.text('write_file', { path: 'new/deep/x.txt', content: 'héllo 😀' })).toBe(
      `Successfully wrote 7 characters to ${at('new/deep/x.txt')}`,
    );
    expect(workspace.read('new/deep/x.txt')).toBe('héllo 😀');
  });

  it('replaces in one step, keeps permissions and leaves nothing behind', async () => {
    chmodSync(at('a.txt'), 0o640);

    await workspace.call('write_file', { path: 'a.txt', content: 'new' });

    expect(workspace.read('a.txt')).toBe('new');
    expect(statSync(at('a.txt')).mode & 0o777).toBe(0o640);
    expect(readdirSync(workspace.root)).toEqual(['a.txt']);
  });

  it('writes through a link that stays inside, and leaves the link', async () => {
    workspace.link('a.txt', 'link');

    await workspace.call('write_file', { path: 'link', content: 'new' });

    expect(workspace.read('a.txt')).toBe('new');
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
  });

  it('does not take a folder for a file', async () => {
    workspace.write('sub/x', '');

    expect(await workspace.text('write_file', { path: 'sub', content: 'x' })).toContain(
      'Error writing file: Is a directory: sub',
    );
    expect(await workspace.text('write_file', { path: '.', content: 'x' })).toMatch(/^Error/);
    expect(await workspace.text('write_file', { path: 'a.txt/x', content: 'x' })).toMatch(
      /^Error writing file: Not a/,
    );
  });

  it('is a read as far as edits go, and the next read still shows the file', async () => {
    await workspace.call('write_file', { path: 'a.txt', content: 'mine' });

    expect(await workspace.text('read_file', { path: 'a.txt' })).toContain('1| mine');
    expect(await workspace.text('edit_file', { path: 'a.txt', old_text: 'mine', new_text: 'x' })).toBe(
      'Patch applied:\n- update a.txt (+1/-1)',
    );
  });
});

describe('edit_file', () => {
  const edit = (old_text: string, new_text: string, args = {}) =>
    workspace.text('edit_file', { path: 'e.txt', old_text, new_text, ...args });

  it('warns when the file changed since it was read, and not when it was only touched', async () => {
    workspace.write('e.txt', 'one');
    await workspace.call('read_file', { path: 'e.txt' });
    utimesSync(at('e.txt'), 1, 1);
    expect(await edit('one', 'two')).toBe('Patch applied:\n- update e.txt (+1/-1)');
    workspace.write('e.txt', 'three');

    expect(await edit('three', 'four')).toMatch(
      /^Warning: file has been modified since last read\. Re-read to verify/,
    );
    expect(workspace.read('e.txt')).toBe('four');
  });

  it('wants to know which one when a text occurs more than once', async () => {
    workspace.write('e.txt', 'x\nx\ny x\n');
    expect(await edit('x', 'z')).toContain('Warning: old_text appears 3 times at line 1, line 2, line 3.');
    expect(workspace.read('e.txt')).toBe('x\nx\ny x\n');

    await edit('x', 'z', { occurrence: 2 });
    expect(workspace.read('e.txt')).toBe('x\nz\ny x\n');
    await edit('x', 'z', { line_hint: 3 });
    expect(workspace.read('e.txt')).toBe('x\nz\ny z\n');
    await edit('z', 'w', { replace_all: true, expected_replacements: 2 });
    expect(workspace.read('e.txt')).toBe('x\nw\ny w\n');
  });

  it('refuses what contradicts itself', async () => {
    workspace.write('e.txt', 'x x\n');

    expect(await edit('x', 'z', { occurrence: 3 })).toContain(
      'Error: occurrence 3 is out of range; old_text appears 2 time(s).',
    );
    expect(await edit('x', 'z', { replace_all: true, occurrence: 1 })).toContain(
      'Error: occurrence cannot be used',
    );
    expect(await edit('x', 'z', { replace_all: true, line_hint: 1 })).toContain(
      'Error: line_hint cannot be used',
    );
    expect(await edit('x', 'z', { occurrence: 1, line_hint: 1 })).toContain(
      'Error: line_hint cannot be used',
    );
    expect(await edit('x', 'z', { line_hint: 1 })).toContain('Error: line_hint 1 is ambiguous');
    expect(await edit('x', 'z', { line_hint: 9 })).toContain('Error: line_hint 9 does not match');
    expect(await edit('x', 'z', { replace_all: true, expected_replacements: 3 })).toContain(
      'Error: expected 3 replacements but would make 2.',
    );
    expect(workspace.read('e.txt')).toBe('x x\n');
  });

  it('finds a text whose indentation or quotes differ, and keeps what the file has', async () => {
    workspace.write('e.txt', '  if a:\n    b(“c”)\n');

    await edit('if a:\n  b("c")', 'if d:\n  e()');

    expect(workspace.read('e.txt')).toBe('  if d:\n    e()\n');
  });

  it('keeps CRLF, takes the line break of a deleted line along, and says why a text was not found', async () => {
    workspace.write('e.txt', 'one\r\ntwo\r\nthree\r\n');
    await edit('two', '');
    expect(workspace.read('e.txt')).toBe('one\r\nthree\r\n');

    expect(await edit('ONE', 'x')).toContain('Possible cause: letter case differs.');
    expect(await edit('nothing like it', 'x')).toContain(
      'Error: old_text not found in e.txt. No similar text found. Verify the file content.',
    );
  });

  it('creates a file from nothing, but never over one', async () => {
    expect(await edit('', 'hello')).toBe('Patch applied:\n- add e.txt (+1/-0)');
    expect(await edit('', 'other')).toContain(
      'Error: Cannot create file — e.txt already exists and is not empty.',
    );
    expect(workspace.read('e.txt')).toBe('hello');
    expect(await workspace.text('edit_file', { path: 'none.txt', old_text: 'x', new_text: 'y' })).toContain(
      'Error: File not found: none.txt',
    );
    expect(existsSync(at('none.txt'))).toBe(false);
  });

  it('takes no file that is too large, binary or no file', async () => {
    workspace.write('e.txt', Buffer.alloc(MAX_EDIT_BYTES + 1, 'x'));
    expect(await edit('x', 'y')).toContain('Error: File too large to edit. Maximum is 4 MiB.');
    workspace.write('e.txt', Buffer.from([0xff, 0xfe]));
    expect(await edit('x', 'y')).toContain('Error editing file: not a UTF-8 text file');
    expect(await workspace.text('edit_file', { path: '.', old_text: 'x', new_text: 'y' })).toContain(
      'Error: Not a file: .',
    );
  });

  it('loses none of fifty edits made at once', async () => {
    workspace.write('e.txt', Array.from({ length: 50 }, (_, index) => `<${index}>`).join('\n'));

    await Promise.all(Array.from({ length: 50 }, (_, index) => edit(`<${index}>`, `[${index}]`)));

    expect(workspace.read('e.txt')).toBe(Array.from({ length: 50 }, (_, index) => `[${index}]`).join('\n'));
  });
});

describe('list_dir', () => {
  beforeEach(() => {
    workspace.write('sub/deep/x.txt', '');
    workspace.write('node_modules/x/y.js', '');
    workspace.link('sub', 'link-in');
    workspace.link(workspace.outside, 'link-out');
  });

  it('marks folders, leaves out caches, and follows no link outside', async () => {
    expect(await workspace.text('list_dir', { path: '.' })).toBe('📄 a.txt\n📁 link-in\n📄 link-out\n📁 sub');
    expect(await workspace.text('list_dir', { path: '.', recursive: true })).toBe(
      'a.txt\nlink-in/\nlink-out\nsub/\nsub/deep/\nsub/deep/x.txt',
    );
  });

  it('says what it is cut to, and what it is not', async () => {
    expect(await workspace.text('list_dir', { path: '.', max_entries: 2 })).toBe(
      '📄 a.txt\n📁 link-in\n\n(truncated, showing first 2 of 4 entries)',
    );
    expect(await workspace.text('list_dir', { path: 'none' })).toContain('Error: Directory not found: none');
    expect(await workspace.text('list_dir', { path: 'a.txt' })).toContain('Error: Not a directory: a.txt');
    expect(await workspace.text('list_dir', { path: 'node_modules/x/..' })).toContain('📁 x');
  });
});

describe('find_files', () => {
  beforeEach(() => {
    workspace.write('notes/2026/plan.md', '');
    workspace.write('notes/todo.md', '');
    workspace.write('src/plan.ts', '');
    utimesSync(at('notes/todo.md'), 1, 1);
  });
  const find = (args: object) => workspace.text('find_files', args);

  it('finds by words, glob and type', async () => {
    expect(await find({})).toBe('a.txt\nnotes/2026/plan.md\nnotes/todo.md\nsrc/plan.ts');
    expect(await find({ query: 'PLAN notes' })).toBe('notes/2026/plan.md');
    expect(await find({ glob: '*.md' })).toBe('notes/2026/plan.md\nnotes/todo.md');
    expect(await find({ glob: 'notes/**/*.md' })).toBe('notes/2026/plan.md\nnotes/todo.md');
    expect(await find({ glob: 'notes/*.md' })).toBe('notes/todo.md');
    expect(await find({ type: 'ts' })).toBe('src/plan.ts');
    expect(await find({ path: 'notes', include_dirs: true })).toBe(
      'notes/2026/\nnotes/2026/plan.md\nnotes/todo.md',
    );
    expect(await find({ path: 'src/plan.ts' })).toBe('src/plan.ts');
    expect(await find({ query: 'nothing' })).toBe('No files found');
  });

  it('sorts and pages', async () => {
    expect((await find({ sort: 'modified' })).split('\n').at(-1)).toBe('notes/todo.md');
    expect(await find({ head_limit: 2, offset: 1 })).toBe(
      'notes/2026/plan.md\nnotes/todo.md\n\n(pagination: limit=2, offset=1)',
    );
    expect(await find({ offset: 3 })).toBe('src/plan.ts\n\n(pagination: offset=3)');
    expect(await find({ sort: 'size' })).toContain("sort must be one of ['path', 'modified']");
    expect(await find({ path: 'none' })).toContain('Error: Path not found: none');
  });
});
