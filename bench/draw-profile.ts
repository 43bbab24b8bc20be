/**
 * Draws a CPU profile: the functions that the process spent most of its time in, without its idle time.
 *
 *   node bench/draw-profile.ts <file.cpuprofile> <title> > picture.svg
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';

const ROWS = 26;
const ROW_PX = 20;
const BAR_PX = 420;

const profileSchema = z.object({
  nodes: z.array(
    z.object({ id: z.number(), callFrame: z.object({ functionName: z.string(), url: z.string() }) }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

function selfTimes(profile: z.output<typeof profileSchema>): [name: string, share: number][] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame: { functionName, url } }) => [
      id,
      `${functionName || '(anonymous)'}  ${url.split('/').at(-1) ?? ''}`.trim(),
    ]),
  );
  const times = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of profile.samples.entries()) {
    const name = names.get(id) ?? '';
    const time = profile.timeDeltas[index] ?? 0;
    if (name === '(idle)') continue;
    busy += time;
    times.set(name, (times.get(name) ?? 0) + time);
  }
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, ROWS)
    .map(([name, time]) => [name, time / busy]);
}

const escaped = (text: string) => text.replace(/[&<>]/g, (each) => `&#${each.charCodeAt(0)};`);

function draw(title: string, rows: readonly [name: string, share: number][]): string {
  const most = rows[0]?.[1] ?? 1;
  const bars = rows.map(([name, share], n) => {
    const y = 48 + n * ROW_PX;
    const width = (share / most) * BAR_PX;
    return (
      `<text x="300" y="${y}" text-anchor="end">${escaped(name)}</text>` +
      `<rect x="310" y="${y - 11}" width="${width.toFixed(1)}" height="14" fill="#1c6ec2"/>` +
      `<text x="${(316 + width).toFixed(1)}" y="${y}">${(share * 100).toFixed(1)} %</text>`
    );
  });
  const height = 60 + rows.length * ROW_PX;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 ${height}" font-family="system-ui,sans-serif" font-size="12">` +
    `<rect width="820" height="${height}" fill="#fff"/><text x="10" y="20" font-size="14">${escaped(title)}</text>\n` +
    `${bars.join('\n')}\n</svg>\n`
  );
}

const [file = '', title = ''] = process.argv.slice(2);
process.stdout.write(draw(title, selfTimes(profileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))))));
