/**
 * The same scenarios with other people's code and with ours, from outside, on real time.
 *
 *   node bench/peers/run.ts [--write]     about a minute; --write puts the table into docs/reference/peers.md
 *
 * @module
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { agentsSdk } from './agents-sdk.ts';
import { ours } from './ours.ts';
import { run, SCENARIOS, type Verdict } from './scenarios.ts';

const PAGE = new URL('../../docs/reference/peers.md', import.meta.url);
const peers = [ours, agentsSdk];

function versionOf(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

const cell = ({ passes, found }: Verdict) => `${passes ? 'passes' : '**fails**'}: ${found}`;

const rows: string[] = [];
for (const scenario of SCENARIOS) {
  const verdicts: Verdict[] = [];
  for (const peer of peers) {
    const verdict = await run(peer, scenario);
    console.log(`${verdict.passes ? 'pass' : 'FAIL'}  ${peer.name}: ${scenario.title}: ${verdict.found}`);
    verdicts.push(verdict);
  }
  rows.push(`| ${scenario.title} | ${scenario.right} | ${verdicts.map(cell).join(' | ')} |`);
}
const versions = ['@openai/agents-extensions', '@openai/agents', '@openai/agents-realtime']
  .map((name) => `${name} ${versionOf(name)}`)
  .join(', ');
const table = [
  `| scenario | what would be right | ${peers.map(({ name }) => name).join(' | ')} |`,
  `| --- | --- | ${peers.map(() => '---').join(' | ')} |`,
  ...rows,
].join('\n');

if (process.argv.includes('--write')) {
  const date = new Date().toISOString().slice(0, 10);
  const text = readFileSync(PAGE, 'utf8');
  const block = `<!-- run -->\n\nRun on ${date}: ${versions}.\n\n${table}\n\n<!-- /run -->`;
  writeFileSync(PAGE, text.replace(/<!-- run -->[\s\S]*<!-- \/run -->/, block));
}
process.exit(0);
