import { describe, expect, it } from 'vitest';
import {
  currentFileStates,
  currentRequestContext,
  currentWorkspaceScope,
  type FileStates,
  type GuardedContext,
  runGuarded,
} from '../../src/gateway/index.ts';

const noStates: FileStates = {
  recordRead: () => {},
  recordWrite: () => {},
  isUnchanged: () => false,
  editWarning: () => null,
};

function contextOf(name: string): GuardedContext {
  return {
    fileStates: { ...noStates },
    request: { channel: name, chatId: name, messageId: null, sessionKey: `${name}:${name}`, metadata: {} },
    workspaceScope: { workspace: `/${name}`, restrictToWorkspace: true, sourceChannel: null },
  };
}

const seen = () => ({
  fileStates: currentFileStates(),
  request: currentRequestContext(),
  workspaceScope: currentWorkspaceScope(),
});
const nothing = { fileStates: null, request: null, workspaceScope: null };

describe('the guarded context', () => {
  it('is empty outside a guarded call', () => {
    expect(seen()).toEqual(nothing);
  });

  it('shows all three to the work, across awaits, and to nobody after it', async () => {
    const context = contextOf('a');

    const inside = await runGuarded(context, async () => {
      await Promise.resolve();
      return seen();
    });

    expect(inside.fileStates).toBe(context.fileStates);
    expect(inside.request).toBe(context.request);
    expect(inside.workspaceScope).toBe(context.workspaceScope);
    expect(seen()).toEqual(nothing);
  });

  it('binds file states, request and workspace scope, in that order', async () => {
    const order: string[] = [];
    const base = contextOf('a');
    const watched: GuardedContext = {
      get fileStates() {
        order.push('file states');
        return base.fileStates;
      },
      get request() {
        order.push('request');
        return base.request;
      },
      get workspaceScope() {
        order.push('workspace scope');
        return base.workspaceScope;
      },
    };

    await runGuarded(watched, () => {});

    expect(order).toEqual(['file states', 'request', 'workspace scope']);
  });

  it('gives an outer call its own context back when an inner one ends', async () => {
    const outer = contextOf('outer');

    await runGuarded(outer, async () => {
      await runGuarded(contextOf('inner'), () => {
        expect(currentRequestContext()?.channel).toBe('inner');
      });
      expect(seen().request).toBe(outer.request);
    });
  });

  it('is released when the work throws', async () => {
    let straggler: Promise<unknown> = Promise.resolve();

    const failing = runGuarded(contextOf('a'), async () => {
      straggler = new Promise((resolve) => setImmediate(() => resolve(seen())));
      throw new Error('broken');
    });

    await expect(failing).rejects.toThrow('broken');
    expect(await straggler).toEqual(nothing);
  });

  it('is gone for work that outlives its call', async () => {
    let check: () => unknown = () => null;
    let later: Promise<unknown> = Promise.resolve();

    await runGuarded(contextOf('a'), () => {
      later = new Promise<void>((resolve) => {
        check = () => resolve();
      }).then(seen);
    });
    check();

    expect(await later).toEqual(nothing);
  });

  it('does not leak between 1,000 interleaved calls of different sessions', async () => {
    const turns = Array.from({ length: 1000 }, (_, index) => contextOf(`s${index}`));

    const leaks = await Promise.all(
      turns.map((context, index) =>
        runGuarded(context, async () => {
          let foreign = 0;
          for (let step = 0; step < 5; step += 1) {
            // Different depths of microtask and macrotask hops, so that the calls interleave in every order.
            if ((index + step) % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
            else await Promise.resolve();
            const now = seen();
            const isMine =
              now.fileStates === context.fileStates &&
              now.request === context.request &&
              now.workspaceScope === context.workspaceScope;
            if (!isMine) foreign += 1;
          }
          return foreign;
        }),
      ),
    );

    expect(leaks.reduce((sum, each) => sum + each, 0)).toBe(0);
    expect(seen()).toEqual(nothing);
  });
});
