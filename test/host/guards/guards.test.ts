import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runGuarded, type WorkspaceScope } from '../../../src/gateway/index.ts';
import {
  DirectoryHandle,
  FileStateStore,
  isPublicAddress,
  isWithin,
  MAX_DIRECTORY_ENTRIES,
  MAX_FILE_STATE_SESSIONS,
  MAX_FILES_PER_SESSION,
  MAX_WALK_DEPTH,
  PathLocks,
  pinnedLookup,
  resolvePhysical,
  SessionFileStates,
  untilAborted,
  WorkspacePolicy,
  walk,
} from '../../../src/host/guards/index.ts';
import { ipv6Groups, unmapped } from '../../../src/host/guards/ip-address.ts';
import { compileGlob } from '../../../src/host/tools/glob.ts';

let base: string;
let root: string;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'nanobot-guards-')));
  root = join(base, 'ws');
  mkdirSync(join(root, 'a/b'), { recursive: true });
  mkdirSync(join(base, 'out/b'), { recursive: true });
  writeFileSync(join(root, 'a/file'), '');
  writeFileSync(join(base, 'out/file'), '');
  symlinkSync('../out', join(root, 'out-link'));
  symlinkSync('a', join(root, 'in-link'));
  symlinkSync('../..', join(root, 'a/up-link'));
  symlinkSync('../in-link/b', join(root, 'a/round-link'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const scopeOf = (workspace: string, restrictToWorkspace = true): WorkspaceScope => ({
  workspace,
  restrictToWorkspace,
  sourceChannel: null,
});

function within<T>(workspaceScope: WorkspaceScope, work: () => Promise<T>): Promise<T> {
  const request = { channel: 'c', chatId: '1', messageId: null, sessionKey: 'c:1', metadata: {} };
  return runGuarded({ fileStates: new SessionFileStates(), request, workspaceScope }, work);
}

describe('resolving a path', () => {
  const part = fc.constantFrom(
    'a',
    'b',
    'file',
    '.',
    '..',
    '',
    'out-link',
    'in-link',
    'up-link',
    'round-link',
    'none',
    'ws',
    'out',
  );
  const anyPath = fc.array(part, { minLength: 1, maxLength: 10 }).map((parts) => parts.join('/'));

  it('agrees with the kernel on every path that exists', async () => {
    await fc.assert(
      fc.asyncProperty(anyPath, async (path) => {
        const absolute = `${root}/${path}`;
        let expected: string;
        try {
          // The plain realpathSync folds `..` before it follows links; the kernel doesn't.
          expected = realpathSync.native(absolute);
        } catch {
          return;
        }
        expect(await resolvePhysical(absolute)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused exactly when it ends outside, and what is allowed has no link left in it', async () => {
    const policy = new WorkspacePolicy({ workspace: root });
    const view = await policy.view('read');
    await fc.assert(
      fc.asyncProperty(anyPath, async (path) => {
        const physical = await resolvePhysical(path.startsWith('/') ? path : `${root}/${path}`);
        const allowed = await view.resolve(path).catch(() => null);
        expect(allowed !== null).toBe(physical === root || physical.startsWith(`${root}/`));
        if (allowed !== null) expect(await resolvePhysical(allowed)).toBe(allowed);
      }),
      { numRuns: 500 },
    );
  });

  it('knows a sibling from a child', () => {
    expect(isWithin('/a/b', '/a/b')).toBe(true);
    expect(isWithin('/a/b/c', '/a/b')).toBe(true);
    expect(isWithin('/a/bc', '/a/b')).toBe(false);
    expect(isWithin('/a', '/a/b')).toBe(false);
    expect(isWithin('/a', '/')).toBe(true);
  });
});

describe('the workspace policy', () => {
  it('keeps nanobot’s own layout usable: a workspace inside the data folder, which stays closed', async () => {
    const data = join(base, 'data');
    mkdirSync(join(data, 'workspace'), { recursive: true });
    const policy = new WorkspacePolicy({ workspace: join(data, 'workspace'), reservedRoots: [data] });
    const view = await within(scopeOf(join(data, 'workspace'), false), () => policy.view('write'));

    expect(view.allows(join(data, 'workspace/x'))).toBe(true);
    expect(view.allows(join(data, 'sessions/x'))).toBe(false);
    expect(view.allows(data)).toBe(false);
    expect(view.allows(join(base, 'out/file'))).toBe(true);
  });

  it('closes a workspace that is a reserved folder', async () => {
    const policy = new WorkspacePolicy({ workspace: root, reservedRoots: [root] });

    expect((await policy.view('read')).allows(join(root, 'a/file'))).toBe(false);
  });

  it('follows links in its own roots', async () => {
    symlinkSync('ws', join(base, 'ws-by-link'));
    const policy = new WorkspacePolicy({
      workspace: join(base, 'ws-by-link'),
      reservedRoots: [join(root, 'in-link/b')],
    });
    const view = await policy.view('read');

    expect(await view.resolve('a/file')).toBe(join(root, 'a/file'));
    await expect(view.resolve('a/b/x')).rejects.toThrow('is reserved for the host');
  });

  it('opens read roots for reading alone', async () => {
    const policy = new WorkspacePolicy({ workspace: root, readRoots: [join(base, 'out')] });

    expect((await policy.view('read')).allows(join(base, 'out/file'))).toBe(true);
    expect((await policy.view('write')).allows(join(base, 'out/file'))).toBe(false);
  });

  it('takes the scope of the call at hand, also when calls interleave', async () => {
    const policy = new WorkspacePolicy({ workspace: root });
    const views = await Promise.all(
      [root, join(base, 'out'), join(root, 'a')].map((workspace) =>
        within(scopeOf(workspace), async () => {
          await Promise.resolve();
          return (await policy.view('read')).root;
        }),
      ),
    );

    expect(views).toEqual([root, join(base, 'out'), join(root, 'a')]);
  });
});

describe('a walk', () => {
  it(`ends at ${MAX_WALK_DEPTH} levels`, async () => {
    const deep = join(base, 'deep');
    mkdirSync(join(deep, ...new Array<string>(MAX_WALK_DEPTH + 10).fill('d')), { recursive: true });
    const view = await within(scopeOf(deep), () => new WorkspacePolicy({ workspace: deep }).view('read'));

    let count = 0;
    for await (const _ of walk(view, deep)) count += 1;

    expect(count).toBe(MAX_WALK_DEPTH);
  });

  it('ends at its number of entries, and looks at so many of one folder', async () => {
    const view = await new WorkspacePolicy({ workspace: root }).view('read');
    let count = 0;
    for await (const _ of walk(view, root, { maxEntries: 3 })) count += 1;
    expect(count).toBe(3);

    const full = join(base, 'full');
    mkdirSync(full);
    for (let index = 0; index <= MAX_DIRECTORY_ENTRIES; index += 1)
      writeFileSync(join(full, String(index)), '');
    const directory = await DirectoryHandle.open(full);
    expect(await directory.entries()).toHaveLength(MAX_DIRECTORY_ENTRIES);
    await directory.close();
  });

  it('ends when it is cancelled', async () => {
    const view = await new WorkspacePolicy({ workspace: root }).view('read');
    const walking = walk(view, root, { signal: AbortSignal.abort(new Error('enough')) });

    await expect(walking.next()).rejects.toThrow('enough');
  });
});

describe('file states', () => {
  const print = (text: string) => ({ mtimeMs: 1, contentHash: text });

  it(`remember ${MAX_FILE_STATE_SESSIONS} sessions, and forget the one unused for longest`, () => {
    const store = new FileStateStore();
    const first = store.forSession('s0');
    for (let index = 1; index < MAX_FILE_STATE_SESSIONS; index += 1) store.forSession(`s${index}`);

    expect(store.forSession('s0')).toBe(first);
    const second = store.forSession('s1');
    store.forSession('one more');
    expect(store.size).toBe(MAX_FILE_STATE_SESSIONS);
    expect(store.forSession('s1')).toBe(second);
    expect(store.forSession('s0')).toBe(first);
    store.forSession('and another');
    expect(store.forSession('s2')).not.toBe(first);
  });

  it(`remember ${MAX_FILES_PER_SESSION} files of a session`, () => {
    const states = new SessionFileStates();
    const window = { offset: 1, limit: null };
    for (let index = 0; index <= MAX_FILES_PER_SESSION; index += 1)
      states.recordRead(`/f${index}`, window, print('x'));

    expect(states.size).toBe(MAX_FILES_PER_SESSION);
    expect(states.editWarning('/f0', print('x'))).toContain('has not been read yet');
    expect(states.editWarning('/f1', print('x'))).toBeNull();
  });
});

describe('path locks', () => {
  it('give turns to one path, let others pass, and leave nothing behind', async () => {
    const locks = new PathLocks();
    const order: string[] = [];
    const step = (path: string, name: string, hops: number) =>
      locks.run(path, async () => {
        order.push(`${name} starts`);
        for (let hop = 0; hop < hops; hop += 1) await Promise.resolve();
        order.push(`${name} ends`);
        if (name === 'first') throw new Error('broken');
      });

    const all = await Promise.allSettled([
      step('/a', 'first', 20),
      step('/a', 'second', 1),
      step('/b', 'other', 1),
    ]);

    expect(all.map((each) => each.status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(order.indexOf('second starts')).toBeGreaterThan(order.indexOf('first ends'));
    expect(order.indexOf('other ends')).toBeLessThan(order.indexOf('first ends'));
    expect(locks.size).toBe(0);
  });
});

describe('waiting until aborted', () => {
  it('leaves no listener behind, however it ends', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };

    await untilAborted(Promise.resolve(1), signal);
    await untilAborted(Promise.reject(new Error('x')), signal).catch(() => {});
    expect(listeners).toBe(0);
  });
});

describe('addresses', () => {
  it('are read in every spelling', () => {
    expect(ipv6Groups('::1')).toEqual([0, 0, 0, 0, 0, 0, 0, 1]);
    expect(ipv6Groups('::')).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(ipv6Groups('1:2:3:4:5:6:7:8')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(ipv6Groups('64:ff9b::10.0.0.1')).toEqual([0x64, 0xff9b, 0, 0, 0, 0, 0x0a00, 1]);
    expect(ipv6Groups('fe80::1%eth0')?.[0]).toBe(0xfe80);
    expect(ipv6Groups('1.2.3.4')).toBeNull();
    expect(unmapped('::ffff:1.2.3.4')).toBe('1.2.3.4');
    expect(unmapped('::FFFF:0102:0304')).toBe('1.2.3.4');
    expect(unmapped('::fffe:1.2.3.4')).toBe('::fffe:1.2.3.4');
  });

  it('of IPv4 are public or not, and so is the same address mapped into IPv6 or behind NAT64', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const isPublic = isPublicAddress(address);
        const [a = 0, b = 0] = address.split('.').map(Number);
        if (a === 0 || a === 10 || a === 127 || a >= 224 || (a === 192 && b === 168))
          expect(isPublic).toBe(false);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublic);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(isPublic);
        for (const wrapped of [`::${address}`, `64:ff9b:1::${address}`, `::ffff:0:${address}`]) {
          expect(isPublicAddress(wrapped)).toBe(false);
        }
      }),
    );
  });

  it('of IPv6 are public only in 2000::/3', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const first = ipv6Groups(address)?.[0] ?? 0;
        if (isPublicAddress(address) && first >> 13 !== 1) {
          expect(address).toMatch(/^(?:0*:)*0*(?:ffff|64)/i);
        }
      }),
    );
  });

  it('are pinned in a lookup, whatever is asked', () => {
    const lookup = pinnedLookup([
      { address: '1.2.3.4', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    const answers: unknown[] = [];
    const note = (...args: unknown[]) => answers.push(args);

    lookup('any.example', { all: true }, note);
    lookup('any.example', {}, note);
    lookup('any.example', { family: 6 }, note);

    expect(answers).toEqual([
      [
        null,
        [
          { address: '1.2.3.4', family: 4 },
          { address: '2606:4700::1', family: 6 },
        ],
      ],
      [null, '1.2.3.4', 4],
      [null, '2606:4700::1', 6],
    ]);
  });
});

describe('a glob', () => {
  it.each([
    ['*.md', 'a/b/c.md', true],
    ['*.md', 'c.mdx', false],
    ['*', 'a/b', true],
    ['a/*', 'a/b', true],
    ['a/*', 'a/b/c', false],
    ['b/*', 'a/b/c', true],
    ['a/**/d', 'a/d', true],
    ['a/**/d', 'a/b/c/d', true],
    ['a/**', 'a/b/c', true],
    ['**/*.ts', 'x.ts', true],
    ['?.[tj]s', 'a.js', true],
    ['?.[!tj]s', 'a.js', false],
    ['[a-c].x', 'b.x', true],
    ['[a-c].x', 'd.x', false],
    ['a[', 'a[', true],
    ['', 'a', false],
    ['*'.repeat(600), 'a', false],
  ])('%s against %s: %s', (pattern, path, expected) => {
    expect(compileGlob(pattern)(path)).toBe(expected);
  });

  it('takes no time on a pattern made to take forever', () => {
    const match = compileGlob(`${'*a'.repeat(100)}b`);
    const started = performance.now();

    expect(match('a'.repeat(255))).toBe(false);
    expect(compileGlob(`${'**/a/'.repeat(50)}b`)('a/'.repeat(100))).toBe(false);
    expect(performance.now() - started).toBeLessThan(500);
  });

  it('agrees with a plain reading of its stars', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(text, pattern, (name, glob) => {
        if (glob === '**' || name === '') return;
        const source = glob.replaceAll('.', '\\.').replace(/\*+/g, '.*').replaceAll('?', '.');
        expect(compileGlob(glob)(name)).toBe(new RegExp(`^${source}$`).test(name));
      }),
      { numRuns: 500 },
    );
  });
});
