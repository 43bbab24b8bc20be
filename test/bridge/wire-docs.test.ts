import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MAX_LINE_BYTES, MAX_OPEN_REQUESTS, PROTOCOL_VERSION, RPC } from '../../src/gateway/remote/index.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/reference/bridge.md');
const sources = ['src/bridge', 'src/gateway/remote']
  .flatMap((folder) =>
    readdirSync(new URL(`../../${folder}`, import.meta.url)).map((name) => `${folder}/${name}`),
  )
  .map(read)
  .join('\n');
const methods = [...sources.matchAll(/peer\s*\.(?:on|request|notify)\(\s*'([a-z/]+)'/g)].map(
  (match) => match[1] ?? '',
);

it('finds the methods of the code', () => {
  expect(new Set(methods).size).toBeGreaterThan(18);
});

it.each([...new Set(methods)])('the page of the wire describes %s', (method) => {
  expect(page).toMatch(new RegExp(`^### \`${method}\` `, 'm'));
});

it('the page describes no method that the code does not know', () => {
  const described = [...page.matchAll(/^### `([a-z/]+)` /gm)].map((match) => match[1] ?? '');

  // `log` is there for a channel that has something to say to the host's log; ours has none.
  expect(described.filter((method) => !methods.includes(method))).toEqual(['log']);
});

it.each(Object.entries(RPC))('the page has the code of %s', (_name, code) => {
  expect(page).toContain(`| −${-code} |`);
});

it('the page has the bounds and the version of the code', () => {
  expect(page).toContain(MAX_LINE_BYTES.toLocaleString('en-US'));
  expect(page).toContain(`At most ${MAX_OPEN_REQUESTS.toLocaleString('en-US')} requests`);
  expect(page).toContain(`**Protocol version: ${PROTOCOL_VERSION}.**`);
});
