import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostFiles, MAX_FILES, MAX_WAITING_MESSAGES } from '../../src/bridge/host-files.ts';
import { turnRows } from '../../src/bridge/turn-rows.ts';
import { mediaSchema } from '../../src/config-media.ts';
import { createMediaTools, WorkspacePolicy } from '../../src/host/index.ts';
import { MAX_ATTACHMENT_BYTES, Media } from '../../src/media/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { type FullStore, openStore } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';

const CALL = { id: 'c1', sessionKey: 'realtime:ada' };

describe('files that the agent sends to a caller', () => {
  let folder: string;
  let workspace: string;
  let clock: FakeClock;
  let store: FullStore;
  let media: Media;
  let files: HostFiles;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'host-files-'));
    workspace = join(folder, 'workspace');
    mkdirSync(workspace);
    clock = new FakeClock();
    store = await openStore({ engine: 'sqlite', file: ':memory:' });
    media = await Media.open({
      store,
      clock,
      logger: silentLogger,
      authorization: [{ tool: 'send_file', required: false }],
      config: mediaSchema.parse({ maxPerCall: 50 }),
      tenant: 'default',
      directory: join(folder, 'media'),
    });
    createMediaTools(media, {
      policy: new WorkspacePolicy({ workspace, reservedRoots: [] }),
      listed: ['send_file'],
    });
    await store.beginCall({
      ...CALL,
      carrier: 'x',
      provider: 'x',
      identityStrength: 'authenticated',
      startedAt: 0,
    });
    // The call has begun, and nobody has said anything yet.
    await store.openTurn({ callId: 'c1', turn: 0, sessionKey: CALL.sessionKey, startedAt: 0 });
    files = new HostFiles({ media, store, roots: [workspace], logger: silentLogger });
  });
  afterEach(async () => {
    await media.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = () =>
    media.openCall({
      callId: 'c1',
      sessionKey: CALL.sessionKey,
      strength: 'authenticated',
      id: 'ada',
      hasPage: true,
    });
  const file = (name: string, content = 'numbers') => {
    writeFileSync(join(workspace, name), content);
    return join(workspace, name);
  };

  it('go into the outbox of the call, with what was said about them', async () => {
    await open();

    expect(await files.send(CALL, [file('a.txt'), file('b.txt', 'others')], 'The report')).toBe(2);

    const rows = await store.listOutbox({ callId: 'c1' });
    expect(rows.map(({ caption, target }) => [caption, target.route])).toEqual([
      ['The report', 'page'],
      ['The report', 'page'],
    ]);
  });

  it('are due at once: no answer of the model is waited for', async () => {
    await open();
    await files.send(CALL, [file('a.txt')], '');

    await media.idle();

    // Its page is not there yet; the first attempt was made all the same.
    const [row] = await store.listOutbox({ callId: 'c1' });
    expect(row).toMatchObject({ status: 'retryable', lastError: 'not_ready' });
    // And nothing of it is a turn of the session's.
    expect((await store.listUnprojectedTurns(10)).flatMap(turnRows)).toEqual([]);
  });

  it('are none when the call may not have any', async () => {
    expect(await files.send(CALL, [file('a.txt')], '')).toBe(0);
    expect(await store.listOutbox({ callId: 'c1' })).toEqual([]);
  });

  it('come from the folders that the host named and from nowhere else, links included', async () => {
    await open();
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    symlinkSync(join(folder, 'secret.txt'), join(workspace, 'link.txt'));
    const outside = [
      join(folder, 'secret.txt'),
      join(workspace, '..', 'secret.txt'),
      join(workspace, 'link.txt'),
      workspace,
      join(workspace, 'none.txt'),
    ];

    expect(await files.send(CALL, outside, '')).toBe(0);
  });

  it('of one message wait for those of the one before, and not of any number', async () => {
    await open();
    const path = file('a.txt');

    const sent = await Promise.all(
      Array.from({ length: MAX_WAITING_MESSAGES + 2 }, (_, index) =>
        files.send(CALL, index === 0 ? [path] : [], ''),
      ),
    );

    expect(sent).toEqual([1, ...Array(MAX_WAITING_MESSAGES + 1).fill(0)]);
  });

  it('are not too large and not too many', async () => {
    await open();
    const large = file('large.bin');
    truncateSync(large, MAX_ATTACHMENT_BYTES + 1);
    const many = Array.from({ length: MAX_FILES + 2 }, (_, index) => file(`${index}.txt`, String(index)));

    expect(await files.send(CALL, [large], '')).toBe(0);
    expect(await files.send(CALL, many, '')).toBe(MAX_FILES);
  });
});
