/**
 * `call.html`: one self-contained page that shows a call on one time axis. It opens from disk and loads nothing.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { CALL_PAGE_SCRIPT, CALL_PAGE_STYLE } from './call-page-assets.ts';
import type { CallRecord } from './call-record.ts';
import { timeline, timelineColumns } from './timeline.ts';
import { escapeHtml as html, toMarkup } from './timeline-shape.ts';
import { TIMELINE_STYLE } from './timeline-style.ts';
import { clock, figures, happenings } from './timeline-text.ts';
import { wavDurationMs, wavPeaks } from './wav-peaks.ts';

/** A recording up to this size is embedded in its page; a longer one is linked beside it. */
export const MAX_EMBEDDED_WAV_BYTES = 12 * 1024 * 1024;

const RATE = 8000;

function drawing(record: CallRecord, wav: Buffer): string {
  const columns = timelineColumns(record.durationMs);
  const peaks = { caller: wavPeaks(wav, 0, columns), agent: wavPeaks(wav, 1, columns) };
  return toMarkup(timeline(record, peaks));
}

function rows(record: CallRecord): string {
  return happenings(record)
    .map(({ atMs, who, what, kind, picture }) => {
      const image = picture
        ? `<br><img src="${picture.url}" alt="${html(picture.caption)}" style="max-width:20rem">`
        : '';
      return `<tr class="${kind}" data-at="${Math.round(atMs)}"><td><button>${clock(atMs)}</button></td><th scope="row">${html(who)}</th><td>${html(what)}${image}</td></tr>`;
    })
    .join('\n');
}

function figureList(record: CallRecord): string {
  return figures(record)
    .map(([name, value]) => `<div><dt>${html(name)}</dt><dd>${html(value)}</dd></div>`)
    .join('');
}

/**
 * The page of one call.
 *
 * @param wavPath - the call's `call.wav`: 16-bit PCM, 8 kHz, caller left, agent right
 * @returns a complete HTML document
 */
export async function renderCallPage(record: CallRecord, wavPath: string): Promise<string> {
  const wav = await readFile(wavPath);
  const source =
    wav.byteLength <= MAX_EMBEDDED_WAV_BYTES ? `data:audio/wav;base64,${wav.toString('base64')}` : 'call.wav';
  const recordedMs = wavDurationMs(wav, RATE);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data: 'self' file:; img-src data:">
<title>Call ${html(record.id.slice(0, 8))}</title><style>${CALL_PAGE_STYLE}${TIMELINE_STYLE}</style></head><body>
<header><h1>Call <code>${html(record.id.slice(0, 8))}</code></h1><p>${html(record.startedAt.replace('T', ' ').slice(0, 19))} UTC · ${html(record.carrier)} ↔ ${html(record.provider)} · caller ${html(record.identityStrength)}${record.clock === 'virtual' ? ' · on virtual time: computing took none of it' : ''}</p></header>
<dl class="figures">${figureList(record)}</dl>
<audio id="audio" controls preload="metadata" src="${source}" data-recorded-ms="${Math.round(recordedMs)}"></audio>
<div class="labels"><span class="caller">Caller</span><span class="agent">Agent</span><span class="verbatim">Said word for word</span><span class="tool">Tool</span><span class="toolerror">Tool refused or failed</span><span class="interruption">Interruption</span></div>
<div class="scroll" tabindex="0">${drawing(record, wav)}</div>
<table><caption>What happened, in order</caption><thead><tr><th scope="col">At</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>
${rows(record)}
</tbody></table>
<script>${CALL_PAGE_SCRIPT}</script></body></html>
`;
}
