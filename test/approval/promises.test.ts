/** The tables in README.md: what is promised, and the test that holds it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const sections = readFileSync(new URL('./README.md', import.meta.url), 'utf8')
  .split(/^## /m)
  .slice(1);

interface Row {
  readonly section: string;
  readonly number: number;
  readonly what: string;
  readonly file: string;
  readonly title: string;
}

const rows: Row[] = sections.flatMap((text) => {
  const section = text.split('\n')[0] ?? '';
  return text
    .split('\n')
    .filter((line) => /^\| *\d/.test(line))
    .map((line) => {
      const cells = line.split('|').slice(1, -1);
      // The checklist has the number in front of the words.
      const [, number = '', rest = ''] = /^(\d+)\s*(.*)$/.exec(cells[0]?.trim() ?? '') ?? [];
      const words = cells.slice(1).map((cell) => cell.trim());
      const [what = '', file = '', title = ''] = rest === '' ? words : [rest, ...words];
      return { section, number: Number(number), what, file, title };
    });
});

/** Sources write an apostrophe in a title as it is, in quotes of another kind. */
const isTitle = (source: string, title: string) =>
  ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`));

describe('the tables of promises', () => {
  it.each([
    ['Checklist', 10],
    ['Public complaints', 24],
    ['What the gate is done by', 6],
  ])('names a test for every line of %s', (section, count) => {
    const numbers = rows.filter((row) => row.section === section).map(({ number }) => number);

    expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
  });

  it.each(rows)('$section $number, $what: the test is there', ({ file, title }) => {
    const source = readFileSync(new URL(file, ROOT), 'utf8');

    expect(title.length).toBeGreaterThan(5);
    expect(isTitle(source, title), `${file} has no test “${title}”`).toBe(true);
  });
});
