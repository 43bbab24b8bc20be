import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { closePageRigs, pageRig } from './rig.ts';

const folders: string[] = [];
afterEach(async () => {
  await closePageRigs();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function build(): string {
  const folder = mkdtempSync(join(tmpdir(), 'web-'));
  folders.push(folder);
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'talk.html'), '<!doctype html><title>Talk</title>');
  writeFileSync(join(folder, 'operate.html'), '<!doctype html><title>Operate</title>');
  writeFileSync(join(folder, 'assets', 'talk-1a2b.js'), 'void 0;');
  return folder;
}

describe('the built pages', () => {
  it('come with a policy that allows nothing from elsewhere and nothing in line', async () => {
    const rig = await pageRig({ webDirectory: build(), peers: false });

    const talk = await rig.get('/talk');

    expect(await talk.text()).toContain('Talk');
    const policy = talk.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|data:|\*/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(talk.headers.get('permissions-policy')).toContain('microphone=(self)');
    expect(talk.headers.get('x-content-type-options')).toBe('nosniff');
    expect(talk.headers.get('cache-control')).toBe('no-store');
    expect(await (await rig.get('/operator')).text()).toContain('Operate');
    const root = await rig.get('/');
    expect([root.status, root.headers.get('location')]).toEqual([302, 'talk']);
    const slash = await rig.get('/talk/');
    expect([slash.status, slash.headers.get('location')]).toEqual([302, '../talk']);
  });

  it('have files that a browser may keep, and no others', async () => {
    const rig = await pageRig({ webDirectory: build(), peers: false });

    const script = await rig.get('/assets/talk-1a2b.js');

    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    for (const path of [
      '/assets/talk.html',
      '/assets/..%2ftalk.html',
      '/assets/%2e%2e%2ftalk.html',
      '/assets/',
    ])
      expect((await rig.get(path)).status).toBe(404);
  });

  it('say how to build them where they are not', async () => {
    const rig = await pageRig({ webDirectory: '/nowhere', peers: false });
    const talk = await rig.get('/talk');
    expect(talk.status).toBe(503);
    expect(await talk.text()).toContain('npm run build:web');
  });
});
