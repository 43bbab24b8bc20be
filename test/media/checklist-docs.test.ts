/** That the checklist in docs/reference/media.md names tests that exist, by file and title. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/reference/media.md', ROOT), 'utf8');
const section = page.split('\n## ').find((each) => each.startsWith('Checklist')) ?? '';
const rows = [...section.matchAll(/^\| (.+?) +\| `(test\/\S+\.ts)` +\| (.+?) +\|$/gm)];

describe('the checklist in docs/reference/media.md', () => {
  it('has the eleven lines of a media reply on a call', () => {
    expect(rows).toHaveLength(11);
  });

  it.each(rows.map(([, holds, file, title]) => ({ holds, file: file!, title: title! })))(
    'names a test of: $holds',
    ({ file, title }) => {
      const source = readFileSync(new URL(file, ROOT), 'utf8');

      expect(source).toContain(`it('${title}'`);
      expect(source).not.toContain(`it.skip('${title}'`);
    },
  );
});
