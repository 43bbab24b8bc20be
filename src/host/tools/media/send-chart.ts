/**
 * `send_chart`: a small table of numbers as a picture.
 *
 * @module
 */

import type { ToolArguments } from '../../registry-tool.ts';
import { strictParameters, textArg } from '../arguments.ts';
import type { Chart } from './chart-svg.ts';
import { drawChart } from './draw-chart.ts';
import type { MediaToolDefinition } from './media-tool.ts';

/** Numbers in one chart. */
export const MAX_CHART_POINTS = 100;
/** Numbers that the spoken fallback reads out. */
const MAX_SPOKEN_POINTS = 6;

export function sendChart(draw: typeof drawChart = drawChart): MediaToolDefinition {
  return {
    name: 'send_chart',
    description: 'Send the caller a chart of some numbers as a picture.',
    parameters: strictParameters(
      {
        title: { type: 'string', minLength: 1, maxLength: 120, description: 'What the chart shows' },
        labels: {
          type: 'array',
          items: { type: 'string', maxLength: 60 },
          minItems: 1,
          maxItems: MAX_CHART_POINTS,
          description: 'A label for each number',
        },
        values: {
          type: 'array',
          items: { type: 'number' },
          minItems: 1,
          maxItems: MAX_CHART_POINTS,
          description: 'The numbers, as many as labels',
        },
        unit: { type: 'string', maxLength: 30, description: "What the numbers count, e.g. '°C'" },
        kind: { type: 'string', enum: ['bar', 'line'], description: 'Default: bar' },
      },
      ['title', 'labels', 'values'],
    ),
    async make(args, { signal }) {
      const chart = chartOf(args);
      const bytes = await draw(chart, signal);
      return { bytes, name: 'chart.png', caption: chart.title, fallback: spoken(chart) };
    },
  };
}

function chartOf(args: ToolArguments): Chart {
  const labels = listOf(args.labels);
  const values = listOf(args.values);
  if (labels.length !== values.length) throw new Error('as many labels as numbers are needed');
  const points = labels.map((label, index) => ({ label: String(label), value: Number(values[index]) }));
  if (!points.every(({ value }) => Number.isFinite(value))) throw new Error('a number is not finite');
  return {
    kind: args.kind === 'line' ? 'line' : 'bar',
    title: textArg(args, 'title') ?? '',
    unit: textArg(args, 'unit') ?? '',
    points,
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function spoken({ title, unit, points }: Chart): string {
  const said = points
    .slice(0, MAX_SPOKEN_POINTS)
    .map(({ label, value }) => `${label}: ${value}${unit === '' ? '' : ` ${unit}`}`);
  const rest = points.length - said.length;
  const more = rest > 0 ? `, and ${rest} more` : '';
  return `I have a chart for you that I can not show on this line. ${title}. ${said.join(', ')}${more}.`;
}
