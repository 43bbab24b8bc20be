import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What the pages may use of the gateway's source: each says of itself that it runs in browsers too. */
const SHARED = [
  'src/leg/page/parts.ts',
  'src/leg/page/protocol.ts',
  'src/observe/timeline.ts',
  'src/observe/timeline-shape.ts',
  'src/observe/timeline-style.ts',
  'src/observe/timeline-text.ts',
  'src/observe/wav-peaks.ts',
];
const TYPES_ONLY = ['src/observe/call-record.ts'];

const imports = (path: string) =>
  [
    ...readFileSync(join(ROOT, path), 'utf8').matchAll(
      /^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'/gm,
    ),
  ].map(([, type, from]) => ({ isType: type !== undefined, from: from ?? '' }));
const resolved = (path: string, from: string) => relative(ROOT, join(ROOT, dirname(path), from));
const pages = readdirSync(join(ROOT, 'web'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('dist'))
  .map((path) => `web/${path}`);

describe('the pages', () => {
  it('use nothing of the gateway but what runs in browsers', () => {
    const used = pages.flatMap((path) =>
      imports(path)
        .map(({ isType, from }) => ({
          path,
          isType,
          target: from.startsWith('.') ? resolved(path, from) : from,
        }))
        .filter(({ target }) => target.startsWith('src/')),
    );

    expect(used.length).toBeGreaterThan(5);
    const isAllowed = ({ isType, target }: { isType: boolean; target: string }) =>
      SHARED.includes(target) || (isType && TYPES_ONLY.includes(target));
    expect(used.filter((each) => !isAllowed(each))).toEqual([]);
  });

  it('share only files that need nothing of Node’s, and no more than zod', () => {
    for (const path of SHARED)
      for (const { isType, from } of imports(path)) {
        const target = from.startsWith('.') ? resolved(path, from) : from;
        expect([...SHARED, 'zod', ...(isType ? TYPES_ONLY : [])], `${path} imports ${from}`).toContain(
          target,
        );
      }
  });

  it('have nothing in line in their documents, and nothing from elsewhere', () => {
    for (const name of ['talk', 'operate']) {
      const document = readFileSync(join(ROOT, 'web/dist', `${name}.html`), 'utf8');

      expect(document).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*src=)/);
      for (const [, address] of document.matchAll(/(?:src|href)="([^"]*)"/g))
        expect(address).toMatch(/^\.\/assets\/[\w.-]+$/);
    }
  });
});
