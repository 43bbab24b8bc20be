import { mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { gateReader } from '../../src/cli/approval-config.ts';
import { realClock } from '../../src/clock.ts';
import { SEND_FILE } from '../../src/host/index.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const text = (requireApproval: string[], more: object = {}) =>
  JSON.stringify({ channels: { realtime: { ...more, approvals: { toolGate: { requireApproval } } } } });

function file(content: string) {
  const folder = mkdtempSync(join(tmpdir(), 'gate-reader-'));
  folders.push(folder);
  const path = join(folder, 'config.json');
  writeFileSync(path, content);
  // The file was written long ago, as far as this clock knows.
  const laterClock = { ...realClock, wallNow: () => Date.now() + 60_000 };
  return { path, laterClock };
}

describe('the gate’s section while the gateway runs', () => {
  it('is read at the first look, whatever the file was like when it was loaded, and then when it changes', async () => {
    const { path, laterClock } = file(text(['a']));
    const read = gateReader({ path, found: true }, laterClock);

    expect((await read())?.requireApproval).toEqual(['a']);
    expect(await read()).toBeNull();
    writeFileSync(path, text(['a', 'b']));
    expect((await read())?.requireApproval).toEqual(['a', 'b']);
    writeFileSync(`${path}.new`, text(['c']));
    renameSync(`${path}.new`, path);
    expect((await read())?.requireApproval).toEqual(['c']);
    expect(await read()).toBeNull();
  });

  it('is not missed when two edits of one size come in one tick of the disk’s clock', async () => {
    const { path } = file(text(['a']));
    const read = gateReader({ path, found: true }, realClock);
    await read();
    const { mtime, atime } = statSync(path);
    writeFileSync(path, text(['b']));
    utimesSync(path, atime, mtime);

    expect((await read())?.requireApproval).toEqual(['b']);
  });

  it('fails for a file that is broken or gone, and comes back with it', async () => {
    const { path, laterClock } = file(text(['a']));
    const read = gateReader({ path, found: true }, laterClock);
    writeFileSync(path, text(['a']).slice(0, 40));
    await expect(read()).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    writeFileSync(path, '{"channels":{"realtime":{"approvals":{"toolGate":{"requireApprovals":["a"]}}}}}');
    await expect(read()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    rmSync(path);
    await expect(read()).rejects.toMatchObject({ code: 'CONFIG_NOT_FOUND' });
    expect(await read()).toBeNull();
    writeFileSync(path, text(['b']));

    expect((await read())?.requireApproval).toEqual(['b']);
  });

  it('keeps files at the gate that wait there by themselves', async () => {
    const tools = { authorization: [{ tool: SEND_FILE }] };
    const { path, laterClock } = file(text(['a'], { tools }));

    const gate = await gateReader({ path, found: true }, laterClock)();

    expect(gate?.requireApproval).toEqual(['a', SEND_FILE]);
  });

  it('is nothing as long as there is no file', async () => {
    const { path, laterClock } = file('{}');
    rmSync(path);
    const read = gateReader({ path, found: false }, laterClock);

    expect(await read()).toBeNull();
    writeFileSync(path, text(['a']));
    expect((await read())?.requireApproval).toEqual(['a']);
  });
});
