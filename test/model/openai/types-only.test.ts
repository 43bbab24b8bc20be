import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

describe('the official openai package', () => {
  it('lends us types and nothing that would be there at run time', () => {
    const importing = files.filter((name) => /from 'openai/.test(readFileSync(join(SRC, name), 'utf8')));
    const atRunTime = importing.filter((name) => {
      const text = readFileSync(join(SRC, name), 'utf8');
      return [...text.matchAll(/^import\b[^;]*from 'openai[^']*';/gm)].some(
        ([statement]) => !statement.startsWith('import type'),
      );
    });

    expect(importing.length).toBeGreaterThan(0);
    expect(atRunTime).toEqual([]);
  });

  it('is in no exported declaration, so that our users need not have it', () => {
    for (const name of files) {
      const text = readFileSync(join(SRC, name), 'utf8');
      const imported = /^import type \{([^}]*)\} from 'openai/m.exec(text)?.[1];
      if (imported === undefined) continue;
      const names = imported
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean);
      for (const line of text.split('\n').filter((each) => /^export |^ {2}(readonly )?\w+\(/.test(each))) {
        expect(
          names.filter((each) => new RegExp(`\\b${each}\\b`).test(line)),
          `${name}: ${line}`,
        ).toEqual([]);
      }
    }
  });
});
