/**
 * Bars, curves and tables of the report, as HTML and SVG that need nothing else.
 *
 * @module
 */

export const COLOURS: Readonly<Record<string, string>> = {
  bare: '#7a7a7a',
  agents: '#c2691c',
  ours: '#1c6ec2',
  pipecat: '#6a3d9a',
};

export const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
export const fixed = (value: number | null, digits: number) =>
  value !== null && Number.isFinite(value) ? value.toFixed(digits) : '–';
const colour = (id: string) => COLOURS[id] ?? '#444';

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly id: string;
  /** Smallest and largest of the runs. */
  readonly spread?: readonly [number, number];
}

export function bars(title: string, unit: string, all: readonly Bar[], digits: number): string {
  const values = all.flatMap(({ value, spread }) => [value, spread?.[1] ?? 0]).filter(Number.isFinite);
  const most = Math.max(...values, 0.000001);
  const width = (value: number) => (value / most) * 380;
  const rows = all
    .map(({ label, value, id, spread }, row) => {
      const y = row * 26;
      const name = `<text x="228" y="${y + 17}" text-anchor="end">${escaped(label)}</text>`;
      if (!Number.isFinite(value))
        return `${name}<text x="236" y="${y + 17}" class="dim">did not take them</text>`;
      const [least, largest] = spread ?? [value, value];
      const whisker =
        largest > least
          ? `<line x1="${(236 + width(least)).toFixed(1)}" x2="${(236 + width(largest)).toFixed(1)}" y1="${y + 12}" y2="${y + 12}" class="ink"/>`
          : '';
      return (
        `${name}<rect x="236" y="${y + 4}" width="${Math.max(1, width(value)).toFixed(1)}" height="17" rx="2" fill="${colour(id)}"/>${whisker}` +
        `<text x="${(244 + width(Math.max(value, largest))).toFixed(1)}" y="${y + 17}">${fixed(value, digits)} ${unit}</text>`
      );
    })
    .join('');
  return `<figure><figcaption>${escaped(title)}</figcaption><svg role="img" aria-label="${escaped(title)}" viewBox="0 0 760 ${all.length * 26 + 4}">${rows}</svg></figure>`;
}

export interface Curve {
  readonly id: string;
  readonly isDashed?: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Axis {
  readonly ticks: readonly (readonly [at: number, label: string])[];
  readonly title: string;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [720, 290, 64, 44, 12, 16];

/**
 * Curves over a scale that the caller has laid out: `x` from 0 to 1. Times are drawn by their logarithm, because what
 * matters spans from a tenth of a millisecond to a second.
 *
 * @param limitMs - drawn across
 */
export function curves(title: string, all: readonly Curve[], x: Axis, limitMs?: number): string {
  const times = all.flatMap(({ points }) => points.map(([, ms]) => ms)).filter((ms) => ms > 0);
  if (times.length === 0) return '';
  const low = Math.floor(Math.log10(Math.min(...times)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...times, limitMs ?? 0))));
  const atX = (share: number) => LEFT + share * (WIDTH - LEFT - RIGHT);
  const atY = (ms: number) =>
    HEIGHT - BOTTOM - ((Math.log10(ms) - low) / (high - low)) * (HEIGHT - BOTTOM - TOP);
  const powers = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  const grid = powers
    .map((ms) => {
      const y = atY(ms).toFixed(1);
      return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" class="grid"/><text x="${LEFT - 6}" y="${(atY(ms) + 4).toFixed(1)}" text-anchor="end">${ms >= 1 ? ms : ms.toFixed(-Math.log10(ms))} ms</text>`;
    })
    .join('');
  const ticks = x.ticks
    .map(
      ([at, label]) =>
        `<line x1="${atX(at).toFixed(1)}" x2="${atX(at).toFixed(1)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" class="grid"/><text x="${atX(at).toFixed(1)}" y="${HEIGHT - BOTTOM + 16}" text-anchor="${at > 0.95 ? 'end' : 'middle'}">${escaped(label)}</text>`,
    )
    .join('');
  const limit =
    limitMs === undefined
      ? ''
      : `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${atY(limitMs).toFixed(1)}" y2="${atY(limitMs).toFixed(1)}" class="limit"/><text x="${LEFT + 6}" y="${(atY(limitMs) - 4).toFixed(1)}" class="dim">${limitMs} ms at 300 calls is wanted</text>`;
  const lines = all
    .map(({ id, isDashed, points }) => {
      const at = points.filter(([, ms]) => ms > 0).map(([share, ms]) => [atX(share), atY(ms)] as const);
      const dots = at.map(
        ([cx, cy]) => `<circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="2.5" fill="${colour(id)}"/>`,
      );
      const path = at.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' ');
      return `<polyline fill="none" stroke="${colour(id)}" stroke-width="2"${isDashed ? ' stroke-dasharray="5 4"' : ''} points="${path}"/>${dots.join('')}`;
    })
    .join('');
  const axis = `<text x="${(WIDTH + LEFT) / 2}" y="${HEIGHT - 6}" text-anchor="middle" class="dim">${escaped(x.title)}</text>`;
  return `<figure><figcaption>${escaped(title)}</figcaption><svg role="img" aria-label="${escaped(title)}" viewBox="0 0 ${WIDTH} ${HEIGHT}">${grid}${ticks}${limit}${lines}${axis}</svg></figure>`;
}

/** A line over even distances. */
export function spark(title: string, values: readonly number[], unit: string): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const x = (i: number) => 60 + (i / Math.max(1, values.length - 1)) * 640;
  const y = (value: number) => 90 - ((value - least) / Math.max(0.001, most - least)) * 70;
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return (
    `<figure><figcaption>${escaped(title)}</figcaption><svg role="img" aria-label="${escaped(title)}" viewBox="0 0 720 104">` +
    `<text x="54" y="24" text-anchor="end">${most} ${unit}</text><text x="54" y="94" text-anchor="end">${least} ${unit}</text>` +
    `<polyline fill="none" stroke="${COLOURS.ours}" stroke-width="2" points="${points}"/></svg></figure>`
  );
}

export function legend(all: readonly { readonly id: string; readonly name: string }[]): string {
  const keys = all.map(
    ({ id, name }) => `<span><i style="background:${colour(id)}"></i>${escaped(name)}</span>`,
  );
  return `<p class="legend">${keys.join('')}</p>`;
}

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = (tag: string, row: readonly (string | number)[]) =>
    row.map((cell) => `<${tag}>${escaped(String(cell))}</${tag}>`).join('');
  return `<div class="wide"><table><thead><tr>${cells('th', head)}</tr></thead><tbody>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</tbody></table></div>`;
}

export const STYLE = `
:root{color-scheme:light}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{margin-bottom:.2rem}h2{margin-top:2.4rem;border-bottom:1px solid #ddd;padding-bottom:.2rem}
figure{margin:1rem 0}figcaption{font-weight:600;margin-bottom:.2rem}
svg{width:100%;max-width:760px;height:auto;font:12px system-ui,sans-serif;fill:#222}
.grid{stroke:#e4e4e4}.ink{stroke:#222}.limit{stroke:#b3261e;stroke-dasharray:2 3}
.dim{fill:#666;color:#666}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{font-weight:600;border-bottom-color:#888}
.legend span{margin-right:1.2rem;white-space:nowrap}.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.35rem;vertical-align:-1px}
.bars td:nth-child(5){font-weight:600;white-space:nowrap}
.beyond td:nth-child(5){color:#0b6b2c}.met td:nth-child(5){color:#0b6b2c}.missed td:nth-child(5){color:#b3261e}.not td:nth-child(5){color:#666}
`;
