import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const json = (name: string) => JSON.parse(read(name)) as Record<string, unknown>;

/** The rules by which nanobot 0.3 takes or drops a plugin's MCP servers and skills. */
describe('mcp.json', () => {
  const mcp = json('mcp.json');
  const servers = mcp.mcpServers as Record<string, Record<string, unknown>>;

  it('has the schema that nanobot wants, servers, and nothing else', () => {
    expect(Object.keys(mcp).sort()).toEqual(['$schema', 'mcpServers']);
    expect(mcp.$schema).toBe('https://agent-plugins.org/schemas/1.0.0/mcp.schema.json');
    expect(Object.keys(servers)).toHaveLength(1);
  });

  it('starts a bare command on a file of the plugin’s own, with fields that nanobot knows', () => {
    for (const server of Object.values(servers)) {
      const known = ['type', 'command', 'args', 'env', 'cwd'];
      expect(Object.keys(server).filter((key) => !known.includes(key))).toEqual([]);
      expect(server.type).toBe('stdio');
      expect(server.command).toMatch(/^[a-z]+$/);
      // biome-ignore lint/suspicious/noTemplateCurlyInString: nanobot's own placeholder
      expect(server.args).toEqual(['${PLUGIN_ROOT}/dist/mcp-server.mjs']);
      expect(Object.keys((server.env ?? {}) as object)).not.toContain('PLUGIN_DATA');
    }
  });

  it('is in the package, with what it starts and the skills', () => {
    expect(json('package.json').files).toEqual(
      expect.arrayContaining(['plugin.json', 'mcp.json', 'skills', 'dist']),
    );
  });
});

describe('each skill', () => {
  it.each(readdirSync(new URL('skills/', ROOT)))('%s is one that nanobot takes', (folder) => {
    const path = `skills/${folder}/SKILL.md`;
    expect(existsSync(new URL(path, ROOT))).toBe(true);
    const [, head = ''] = /^---\n([\s\S]*?)\n---\n/.exec(read(path)) ?? [];
    const fields = Object.fromEntries(head.split('\n').map((line) => line.split(/:\s+(.*)/).slice(0, 2)));

    expect(fields.name).toBe(folder);
    expect(folder).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(folder.length).toBeLessThanOrEqual(64);
    expect(fields.description?.length).toBeGreaterThan(0);
    expect(fields.description?.length).toBeLessThanOrEqual(1024);
    // YAML: a colon with a space would begin a map.
    expect(fields.description).not.toMatch(/: /);
  });
});
