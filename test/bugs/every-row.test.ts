/** That a row of the bug bank is tested here or named in README.md with its reason, and that README.md is true. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const README = readFileSync(`${FOLDER}README.md`, 'utf8');

const ROWS = [
  1, 3, 4, 6, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 22, 23, 24, 25, 27, 28, 29, 31, 33, 35, 36, 38, 39, 40,
  41, 42, 44, 46, 48, 49, 51, 52, 55, 56, 57, 58, 60, 62, 63, 65, 66, 67, 69, 70, 71, 74, 75, 77, 78, 79, 80,
  82, 85, 86, 87, 89,
];

const files = readdirSync(FOLDER).filter((name) => /^\d{3}-.*\.test\.ts$/.test(name));
const tested = new Set(files.map((name) => Number(name.slice(0, 3))));

/** Rows that a section of README.md names. */
function rowsOf(title: string): number[] {
  const section = README.split('\n## ').find((each) => each.startsWith(title)) ?? '';
  return [...section.matchAll(/^\| ([\d, ]+)\|/gm)].flatMap(([, list]) => list!.split(',').map(Number));
}

describe('the bug bank', () => {
  it.each(ROWS)('row %i is tested here or named with its reason', (row) => {
    expect(tested.has(row) || [...rowsOf('Elsewhere'), ...rowsOf('Not possible yet')].includes(row)).toBe(
      true,
    );
  });

  it('has no test of a row that README.md calls impossible', () => {
    expect(rowsOf('Not possible yet').filter((row) => tested.has(row))).toEqual([]);
    expect(rowsOf('Covered in part').filter((row) => !tested.has(row))).toEqual([]);
  });

  it.each(files)('%s says in its first line what happened elsewhere', (name) => {
    const [first] = readFileSync(`${FOLDER}${name}`, 'utf8').split('\n');
    expect(first).toMatch(/^\/\/ (Elsewhere|As \d{3})/);
  });

  it('is told of folders that exist', () => {
    for (const [, path] of README.matchAll(/`(test\/[a-z]+)`/g))
      expect(existsSync(`${FOLDER}../../${path}`), path).toBe(true);
  });
});
