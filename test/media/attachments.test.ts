import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Attachments } from '../../src/media/attachments.ts';
import { MAX_ATTACHMENT_BYTES, MAX_RETENTION_MS } from '../../src/media/limits.ts';
import { type FullStore, openStore, type TurnKey } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { tempDir } from '../store/temp.ts';
import { beginTurn, PNG } from './support.ts';

const dir = tempDir('attachments');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const pathOf = (digest: string) => join(dir, digest.slice(0, 2), digest);

describe('the attachment store', () => {
  let store: FullStore;
  let clock: FakeClock;
  let attachments: Attachments;
  beforeAll(async () => {
    store = await openStore({ engine: 'sqlite', file: ':memory:' });
    clock = new FakeClock();
    attachments = new Attachments({ store, clock, directory: dir, retentionMs: MAX_RETENTION_MS });
  });
  afterAll(() => store.close());

  const upload = (event: TurnKey, bytes: Uint8Array = PNG, name = 'test.png') => ({
    event,
    tool: 'send_test_image',
    name,
    bytes,
  });

  /** Put and bound to an event of its own. */
  const bound = async (bytes: Uint8Array = randomBytes(64)) => {
    const event = await beginTurn(store);
    const ref = await attachments.put('acme', upload(event, bytes));
    await attachments.bind('acme', ref.id, event);
    return { event, ref };
  };

  it('gives back what it was given, to who names tenant, event and reference', async () => {
    const { event, ref } = await bound(PNG);

    const { bytes, attachment } = await attachments.load('acme', event, ref.id);

    expect(bytes.equals(PNG)).toBe(true);
    expect(attachment).toMatchObject({
      kind: 'image',
      mime: 'image/png',
      size: PNG.length,
      name: 'test.png',
    });
  });

  it('keeps bytes by their content, readable by their owner alone, one file for equal ones', async () => {
    const bytes = randomBytes(100);
    const one = await bound(bytes);
    const two = await bound(bytes);

    expect(one.ref.id).not.toBe(two.ref.id);
    const path = pathOf(sha256(bytes));
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(path, '..'))).toEqual([sha256(bytes)]);
  });

  it('names an attachment by tenant, event, tool, name and content: the same again is the same', async () => {
    const event = await beginTurn(store);
    const id = async (tenant: string, ...args: Parameters<typeof upload>) =>
      (await attachments.put(tenant, upload(...args))).id;

    const first = await id('acme', event);

    expect(await id('acme', event)).toBe(first);
    expect(await id('other', event)).not.toBe(first);
    expect(await id('acme', { ...event, turn: 2 })).not.toBe(first);
    expect(await id('acme', event, PNG, 'b.png')).not.toBe(first);
    expect(await id('acme', event, randomBytes(3))).not.toBe(first);
  });

  it.each([
    ['no bytes', new Uint8Array(), {}],
    ['a byte more than 64 MiB', new Uint8Array(MAX_ATTACHMENT_BYTES + 1), {}],
    ['another length than announced', PNG, { size: PNG.length + 1 }],
    ['another digest than announced', PNG, { sha256: sha256(Buffer.from('x')) }],
  ])('refuses %s', async (_, bytes, announced) => {
    const event = await beginTurn(store);

    const put = attachments.put('acme', { ...upload(event, bytes), ...announced });

    await expect(put).rejects.toMatchObject({ code: 'MEDIA_INVALID' });
  });

  it('takes one byte, and 64 MiB', async () => {
    for (const size of [1, MAX_ATTACHMENT_BYTES]) {
      const { event, ref } = await bound(new Uint8Array(size));
      expect((await attachments.load('acme', event, ref.id)).bytes.length).toBe(size);
    }
  });

  it('knows no attachment of another tenant, another event, another reference, or before it is bound', async () => {
    const { event, ref } = await bound();
    const other = await bound();
    const unbound = await attachments.put('acme', upload(event, randomBytes(9)));
    const gone = { code: 'MEDIA_NOT_FOUND', message: 'There is no such attachment.' };

    await expect(attachments.load('other', event, ref.id)).rejects.toMatchObject(gone);
    await expect(attachments.load('acme', other.event, ref.id)).rejects.toMatchObject(gone);
    await expect(attachments.load('acme', event, other.ref.id)).rejects.toMatchObject(gone);
    await expect(attachments.load('acme', event, unbound.id)).rejects.toMatchObject(gone);
    await expect(attachments.load('acme', event, '../../etc/passwd')).rejects.toMatchObject(gone);
  });

  it('binds to one event that is there, and to no other after that', async () => {
    const { event, ref } = await bound();
    const other = await beginTurn(store);

    await expect(attachments.bind('acme', ref.id, event)).resolves.toBeUndefined();
    await expect(attachments.bind('acme', ref.id, other)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
    await expect(attachments.bind('other', ref.id, event)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
    const nowhere = await attachments.put('acme', upload({ callId: 'nobody', turn: 1 }));
    await expect(attachments.bind('acme', nowhere.id, { callId: 'nobody', turn: 1 })).rejects.toMatchObject({
      code: 'MEDIA_NOT_FOUND',
    });
  });

  it.each([
    ['cut off', (path: string) => truncateSync(path, 10)],
    ['changed in place', (path: string) => writeFileSync(path, Buffer.alloc(64))],
  ])('does not give out bytes that were %s on disk', async (_, damage) => {
    const { event, ref } = await bound(randomBytes(64));

    damage(pathOf(ref.sha256));

    await expect(attachments.load('acme', event, ref.id)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
  });

  it('forgets rows and bytes at the end of their time, and keeps bytes that a younger row names', async () => {
    const shared = randomBytes(32);
    const old = await bound();
    await bound(shared);
    await clock.advance(MAX_RETENTION_MS - 1);
    const young = await bound(shared);
    expect((await attachments.load('acme', old.event, old.ref.id)).bytes).toHaveLength(64);

    await clock.advance(1);
    await expect(attachments.load('acme', old.event, old.ref.id)).rejects.toMatchObject({
      code: 'MEDIA_NOT_FOUND',
    });
    await attachments.sweep();

    expect(existsSync(pathOf(old.ref.sha256))).toBe(false);
    expect((await attachments.load('acme', young.event, young.ref.id)).bytes.equals(shared)).toBe(true);
  });

  it('removes at the start what a crash left without a row, and nothing else', async () => {
    const { event, ref } = await bound();
    const stray = sha256(Buffer.from('stray'));
    const half = join(dir, ref.sha256.slice(0, 2), 'half.tmp');
    mkdirSync(join(dir, stray.slice(0, 2)), { recursive: true });
    writeFileSync(pathOf(stray), 'stray');
    writeFileSync(half, 'half');

    await attachments.removeStrays();

    expect([pathOf(stray), half].filter((path) => existsSync(path))).toEqual([]);
    expect((await attachments.load('acme', event, ref.id)).attachment.id).toBe(ref.id);
  });
});
