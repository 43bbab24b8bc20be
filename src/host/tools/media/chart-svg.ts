/**
 * A small table of numbers as an SVG: bars or a line, with axes that d3 chooses.
 *
 * @module
 */

import { scaleBand, scaleLinear, scalePoint } from 'd3-scale';
import { line } from 'd3-shape';

export interface Chart {
  readonly kind: 'bar' | 'line';
  readonly title: string;
  readonly unit: string;
  readonly points: readonly { readonly label: string; readonly value: number }[];
}

export const CHART_FONT = 'DejaVu Sans';
const WIDTH = 800;
const HEIGHT = 500;
const MARGIN = { top: 64, right: 24, bottom: 72, left: 84 };
const COLOURS = { ink: '#1f2933', quiet: '#7b8794', grid: '#e4e7eb', data: '#2b6cb0', paper: '#ffffff' };
/** Labels under the axis that fit beside each other; of more, every n-th is shown. */
const MAX_AXIS_LABELS = 12;
const MAX_LABEL_CHARS = 14;
const MAX_TITLE_CHARS = 60;

export function chartSvg({ kind, title, unit, points }: Chart): string {
  const values = points.map(({ value }) => value);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values)])
    .range([HEIGHT - MARGIN.bottom, MARGIN.top])
    .nice(6);
  const indices = points.map((_, index) => index);
  const span: [number, number] = [MARGIN.left, WIDTH - MARGIN.right];
  const band = scaleBand<number>().domain(indices).range(span).padding(0.25);
  const point = scalePoint<number>().domain(indices).range(span).padding(0.5);
  const centre = (index: number) =>
    kind === 'bar' ? (band(index) ?? 0) + band.bandwidth() / 2 : (point(index) ?? 0);

  const format = y.tickFormat(6);
  const grid = y.ticks(6).map((tick) => {
    const at = round(y(tick));
    return (
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${at}" y2="${at}" stroke="${tick === 0 ? COLOURS.quiet : COLOURS.grid}"/>` +
      text(MARGIN.left - 10, at + 5, format(tick), { anchor: 'end', size: 14, fill: COLOURS.quiet })
    );
  });
  const every = Math.ceil(points.length / MAX_AXIS_LABELS);
  const labels = points.flatMap(({ label }, index) =>
    index % every === 0
      ? [
          text(centre(index), HEIGHT - MARGIN.bottom + 26, cut(label, MAX_LABEL_CHARS), {
            anchor: 'middle',
            size: 13,
            fill: COLOURS.ink,
          }),
        ]
      : [],
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${COLOURS.paper}"/>`,
    text(MARGIN.left, 36, cut(title, MAX_TITLE_CHARS), { anchor: 'start', size: 20, fill: COLOURS.ink }),
    unit === ''
      ? ''
      : text(WIDTH - MARGIN.right, 36, cut(unit, 20), { anchor: 'end', size: 14, fill: COLOURS.quiet }),
    ...grid,
    ...labels,
    kind === 'bar' ? bars() : curve(),
    '</svg>',
  ].join('');

  function bars(): string {
    return points
      .map(({ value }, index) => {
        const from = round(Math.min(y(0), y(value)));
        const height = Math.max(1, round(Math.abs(y(0) - y(value))));
        return `<rect x="${round(band(index) ?? 0)}" y="${from}" width="${round(band.bandwidth())}" height="${height}" fill="${COLOURS.data}"/>`;
      })
      .join('');
  }

  function curve(): string {
    const path = line<number>(
      (_, index) => round(centre(index)),
      (value) => round(y(value)),
    )(values);
    const dots = values.map(
      (value, index) =>
        `<circle cx="${round(centre(index))}" cy="${round(y(value))}" r="4" fill="${COLOURS.data}"/>`,
    );
    return `<path d="${path ?? ''}" fill="none" stroke="${COLOURS.data}" stroke-width="3"/>${dots.join('')}`;
  }
}

const round = (value: number) => Math.round(value * 10) / 10;

function cut(content: string, max: number): string {
  const letters = [...content];
  return letters.length <= max ? content : `${letters.slice(0, max - 1).join('')}…`;
}

function text(
  x: number,
  y: number,
  content: string,
  { anchor, size, fill }: { anchor: string; size: number; fill: string },
): string {
  return `<text x="${round(x)}" y="${round(y)}" font-family="${CHART_FONT}" font-size="${size}" fill="${fill}" text-anchor="${anchor}">${escapeXml(content)}</text>`;
}

/** What a model wrote becomes text and nothing else; XML has no place for control characters. */
function escapeXml(content: string): string {
  return content
    .replace(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
