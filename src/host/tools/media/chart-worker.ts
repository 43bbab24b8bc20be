/** Draws one chart: rendering takes longer than 20 ms of somebody's voice, so it has a thread of its own. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { CHART_FONT, type Chart, chartSvg } from './chart-svg.ts';

const FONT = new URL('../../../../assets/fonts/DejaVuSans.ttf', import.meta.url);

await initWasm(readFileSync(createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')));
const resvg = new Resvg(chartSvg(workerData as Chart), {
  font: { fontBuffers: [readFileSync(FONT)], defaultFontFamily: CHART_FONT, loadSystemFonts: false },
});
const png = resvg.render().asPng();
parentPort?.postMessage(png, [png.buffer as ArrayBuffer]);
