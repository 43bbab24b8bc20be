import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const json = (name: string) =>
  JSON.parse(readFileSync(new URL(name, ROOT), 'utf8')) as Record<string, unknown>;
const plugin = json('plugin.json');
const pack = json('package.json');
const nanobot = (plugin.extensions as Record<string, Record<string, unknown>>)['dev.nanobot'] ?? {};

/** The rules by which nanobot 0.3 takes or drops a plugin (Agent Plugins v1). */
describe('plugin.json', () => {
  it('names exactly the schema that nanobot wants', () => {
    expect(plugin.$schema).toBe('https://agent-plugins.org/schemas/1.0.0/plugin.schema.json');
  });

  it('has a name that nanobot takes', () => {
    expect(plugin.name).toMatch(/^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/);
    expect(String(plugin.name).length).toBeLessThanOrEqual(64);
  });

  it('has only fields of the specification, each of its type', () => {
    const known = [
      '$schema',
      'name',
      'version',
      'description',
      'author',
      'homepage',
      'repository',
      'license',
      'keywords',
      'extensions',
    ];
    expect(Object.keys(plugin).filter((key) => !known.includes(key))).toEqual([]);
    for (const key of ['name', 'version', 'description', 'homepage', 'repository', 'license']) {
      expect(['string', 'undefined']).toContain(typeof plugin[key]);
    }
    const author = plugin.author as Record<string, unknown>;
    expect(Object.keys(author).filter((key) => !['name', 'email', 'url'].includes(key))).toEqual([]);
    expect(Object.values(author).every((value) => typeof value === 'string')).toBe(true);
    expect((plugin.keywords as unknown[]).every((word) => typeof word === 'string')).toBe(true);
  });

  it("has only fields of nanobot's extension, each as nanobot reads it", () => {
    const known = ['displayName', 'category', 'accentColor', 'logo', 'permissions'];
    expect(Object.keys(nanobot).filter((key) => !known.includes(key))).toEqual([]);
    expect(typeof nanobot.displayName).toBe('string');
    expect(typeof nanobot.category).toBe('string');
    expect(nanobot.accentColor).toMatch(/^#[0-9A-Fa-f]{6}$/);
    expect((nanobot.permissions as unknown[]).every((each) => typeof each === 'string')).toBe(true);
  });

  it('names a logo only if it is a small picture inside the package', () => {
    const logo = nanobot.logo;
    if (logo === undefined) return;
    expect(logo).toMatch(/^\.\/(?!.*\.\.).+\.(png|jpe?g|webp)$/);
    expect(statSync(new URL(String(logo), ROOT)).size).toBeLessThanOrEqual(256 * 1024);
  });

  it('comes without an mcp.json, or with one of its form', () => {
    if (!existsSync(new URL('mcp.json', ROOT))) return;
    expect(Object.keys(json('mcp.json')).sort()).toEqual(['$schema', 'mcpServers']);
  });

  it('says the same as package.json, and ships with the package', () => {
    for (const key of ['name', 'version', 'description', 'license', 'keywords']) {
      expect(plugin[key], key).toEqual(pack[key]);
    }
    expect(pack.files).toContain('plugin.json');
  });
});
