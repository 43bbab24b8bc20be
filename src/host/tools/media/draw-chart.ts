/**
 * Draws a chart on a thread of its own; a few at a time, and never for long.
 *
 * @module
 */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Chart } from './chart-svg.ts';

/** Charts drawn at once; the next one is refused. */
export const MAX_CHARTS_AT_ONCE = 2;

let drawing = 0;

/** @throws Error when too many are being drawn, the drawing fails, or `signal` aborts */
export async function drawChart(chart: Chart, signal: AbortSignal): Promise<Uint8Array> {
  if (drawing >= MAX_CHARTS_AT_ONCE) throw new Error('too many charts are being drawn');
  drawing += 1;
  const path = new URL(`./chart-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(path, {
    workerData: chart,
    name: 'chart',
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  try {
    return await new Promise<Uint8Array>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('the call was cancelled')), { once: true });
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the drawing ended without a picture')));
    });
  } finally {
    drawing -= 1;
    await worker.terminate();
  }
}
