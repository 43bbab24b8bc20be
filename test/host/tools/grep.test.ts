import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, realClock } from '../../../src/clock.ts';
import { MAX_GREP_CHARS, MAX_GREP_FILE_BYTES } from '../../../src/host/tools/grep.ts';
import { MAX_LINE_CHARS } from '../../../src/host/tools/grep-match.ts';
import { MAX_CONCURRENT_GREPS } from '../../../src/host/tools/grep-session.ts';
import { makeWorkspace, type TestWorkspace } from './workspace.ts';

let workspace: TestWorkspace;
/** Ends the running search's time. */
let fire: () => void;
const idle = () => {};

beforeEach(() => {
  fire = idle;
  const clock: Clock = {
    ...realClock,
    setTimeout: (callback) => {
      fire = callback;
      return { clear: () => {} };
    },
  };
  workspace = makeWorkspace({ clock });
});
afterEach(() => workspace.remove());

/** Paths, unless the call says otherwise. */
const grep = (args: object) => workspace.text('grep', { output_mode: 'files_with_matches', ...args });

describe('grep', () => {
  beforeEach(() => {
    workspace.write('b.txt', 'alpha\nbeta\nalphabet\ngamma\n');
    workspace.write('sub/c.md', 'Alpha\n');
    workspace.write('binary.dat', Buffer.from([0, 1, 2]));
  });

  it('returns the files that match, newest first', async () => {
    expect(await grep({ pattern: 'alpha' })).toBe('b.txt\n\n(skipped 1 binary/unreadable files)');
    expect((await grep({ pattern: 'alpha', case_insensitive: true })).split('\n').slice(0, 2).sort()).toEqual(
      ['b.txt', 'sub/c.md'],
    );
    expect(await grep({ pattern: '(?i)ALPHA', glob: '*.md' })).toBe('sub/c.md');
  });

  it('returns lines with what is around them', async () => {
    const around = { context_before: 0, context_after: 1 };
    expect(await workspace.text('grep', { pattern: '^alpha', path: 'b.txt', ...around })).toBe(
      'b.txt:1\n> 1| alpha\n  2| beta\n\nb.txt:3\n> 3| alphabet\n  4| gamma',
    );
    expect(await workspace.text('grep', { pattern: 'a', path: 'b.txt', head_limit: 1 })).toBe(
      'b.txt:1\n> 1| alpha\n  2| beta\n  3| alphabet\n  4| gamma\n\n' +
        '(pagination: limit=1, offset=0; use offset=1 to continue)',
    );
  });

  it('counts', async () => {
    expect(await grep({ pattern: 'a', type: 'txt', output_mode: 'count' })).toBe(
      'b.txt: 4\n\n(total matches: 4 in 1 files)',
    );
  });

  it('takes plain text as it is, and tells a pattern that is none', async () => {
    workspace.write('d.txt', 'a.b (c)\n');

    expect(await grep({ pattern: 'a.b (c)', fixed_strings: true, path: 'd.txt' })).toBe('d.txt');
    expect(await grep({ pattern: 'axb', fixed_strings: true, path: 'd.txt' })).toBe(
      "No matches found for pattern 'axb' in d.txt",
    );
    expect(await grep({ pattern: '\\-|\\.b', path: 'd.txt' })).toBe('d.txt');
    expect(await grep({ pattern: '(' })).toContain('Error: invalid regex pattern: ');
    expect(await grep({ pattern: '' })).toContain('pattern must be at least 1 chars');
    expect(await grep({ pattern: 'a', path: 'none' })).toContain('Error: Path not found: none');
  });

  it('passes over large files unless they are named, and cuts long lines and long results', async () => {
    workspace.write('large.txt', `needle ${'x'.repeat(MAX_GREP_FILE_BYTES)}\n`);
    workspace.write('many.txt', `pin ${'y'.repeat(500)}\n`.repeat(1000));

    expect(await grep({ pattern: 'needle' })).toContain('(skipped 1 large files)');
    const named = await grep({ pattern: 'needle', path: 'large.txt', output_mode: 'content' });
    expect(named.length).toBeLessThan(MAX_LINE_CHARS + 100);
    const many = await grep({ pattern: 'pin', path: 'many.txt', output_mode: 'content', head_limit: 0 });
    expect(many.length).toBeLessThan(MAX_GREP_CHARS + 200);
    expect(many).toContain('(output truncated due to size)');
  });

  it('ends a pattern that never ends, without holding anybody up', async () => {
    workspace.write('evil.txt', `${'a'.repeat(50)}!\n`);
    const searching = grep({ pattern: '^(a+)+$', path: 'evil.txt' });
    await vi.waitUntil(() => fire !== idle, { timeout: 10_000 });
    // The event loop turns while the pattern spins on its own thread.
    for (let turn = 0; turn < 1000; turn += 1) await new Promise((resolve) => setImmediate(resolve));

    fire();

    expect(await searching).toContain('Error searching files: the pattern took longer than 10 seconds');
  });

  it('ends when the call is cancelled', async () => {
    workspace.write('evil.txt', `${'a'.repeat(50)}!\n`);
    const controller = new AbortController();
    const searching = workspace.call(
      'grep',
      { pattern: '^(a+)+$', path: 'evil.txt' },
      { signal: controller.signal },
    );
    await new Promise((resolve) => setImmediate(resolve));

    controller.abort();

    expect(await searching).toMatchObject({ isError: true });
  });

  it(`runs ${MAX_CONCURRENT_GREPS} at once and asks the next to wait`, async () => {
    const texts = await Promise.all(
      Array.from({ length: MAX_CONCURRENT_GREPS * 3 }, () => grep({ pattern: 'alpha' })),
    );

    const busy = texts.filter((text) => text.includes('too many searches at once'));
    expect(texts.length - busy.length).toBeGreaterThanOrEqual(MAX_CONCURRENT_GREPS);
    // And the places are free again.
    expect(await grep({ pattern: 'alpha' })).toContain('b.txt');
  });
});
