/**
 * `call.html`: one self-contained page that shows a call on one time axis. It opens from disk and loads nothing.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { CALL_PAGE_SCRIPT, CALL_PAGE_STYLE } from './call-page-assets.ts';
import type { CallEvent, CallRecord } from './call-record.ts';

/** A recording up to this size is embedded in its page; a longer one is linked beside it. */
export const MAX_EMBEDDED_WAV_BYTES = 12 * 1024 * 1024;

const WAV_HEADER_BYTES = 44;
const RATE = 8000;
const LANE = { caller: 60, agent: 190, height: 100, tools: 275, axis: 330, total: 356 } as const;
const LEFT = 8;

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function html(text: string): string {
  return text.replace(/[&<>"']/g, (char) => escapes[char] ?? char);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function clock(ms: number): string {
  const s = Math.floor(ms / 1000);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}.${Math.floor((ms % 1000) / 100)}`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Peaks of one channel of the 16-bit stereo recording, one column each. */
function wavePath(wav: Buffer, channel: 0 | 1, columns: number, pxPerColumn: number, middle: number): string {
  const frames = Math.max(0, Math.floor((wav.byteLength - WAV_HEADER_BYTES) / 4));
  const perColumn = Math.max(1, Math.floor(frames / columns));
  const parts: string[] = [];
  for (let column = 0; column < columns; column++) {
    let low = 0;
    let high = 0;
    const end = Math.min(frames, (column + 1) * perColumn);
    for (let frame = column * perColumn; frame < end; frame++) {
      const sample = wav.readInt16LE(WAV_HEADER_BYTES + frame * 4 + channel * 2);
      if (sample < low) low = sample;
      if (sample > high) high = sample;
    }
    const half = LANE.height / 2;
    const top = middle - (high / 32768) * half;
    const bottom = middle - (low / 32768) * half;
    if (bottom - top < 0.8) continue;
    parts.push(`M${(LEFT + column * pxPerColumn).toFixed(1)} ${top.toFixed(1)}V${bottom.toFixed(1)}`);
  }
  return parts.join('');
}

class Drawing {
  readonly #parts: string[] = [];
  readonly #pxPerMs: number;

  constructor(pxPerMs: number) {
    this.#pxPerMs = pxPerMs;
  }

  x(ms: number): number {
    return LEFT + ms * this.#pxPerMs;
  }

  add(svg: string): void {
    this.#parts.push(svg);
  }

  span(className: string, fromMs: number, toMs: number, y: number, height: number, title: string): void {
    const width = Math.max(2, (toMs - fromMs) * this.#pxPerMs);
    this.add(
      `<rect class="${className}" x="${this.x(fromMs).toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="3"><title>${html(title)}</title></rect>`,
    );
  }

  text(className: string, atMs: number, y: number, text: string, anchor: 'start' | 'middle' = 'start'): void {
    this.add(
      `<text class="${className}" x="${this.x(atMs).toFixed(1)}" y="${y}" text-anchor="${anchor}">${html(text)}</text>`,
    );
  }

  toString(): string {
    return this.#parts.join('\n');
  }
}

function drawEvent(drawing: Drawing, event: CallEvent, pxPerMs: number): void {
  const fits = (fromMs: number, toMs: number) => Math.max(6, Math.floor(((toMs - fromMs) * pxPerMs) / 6.2));
  switch (event.type) {
    case 'caller_speech':
      drawing.span(
        'caller',
        event.atMs,
        event.endMs,
        LANE.caller - 50,
        100,
        `Caller: ${event.text ?? '(not written down)'}`,
      );
      drawing.text(
        'said',
        event.atMs,
        LANE.caller - 40,
        cut(event.text ?? '', fits(event.atMs, event.endMs) + 14),
      );
      break;
    case 'agent_speech':
      drawing.span(
        event.source === 'verbatim' ? 'verbatim' : 'agent',
        event.atMs,
        event.endMs,
        LANE.agent - 50,
        100,
        `Agent${event.whole ? '' : ' (interrupted)'}: ${event.text}`,
      );
      drawing.text('said', event.atMs, LANE.agent + 46, cut(event.text, fits(event.atMs, event.endMs)));
      break;
    case 'tool':
      drawing.span(
        event.isError ? 'tool error' : 'tool',
        event.atMs,
        Math.max(event.endMs, event.atMs + 5),
        LANE.tools - 26,
        18,
        `${event.name} ${event.args}\n${seconds(event.endMs - event.atMs)}\n${cut(event.output, 400)}`,
      );
      drawing.text('toolname', event.atMs, LANE.tools + 6, `${event.isError ? '✕ ' : ''}${event.name}`);
      break;
    case 'interruption': {
      const x = drawing.x(event.atMs).toFixed(1);
      drawing.add(
        `<g class="interruption"><line x1="${x}" x2="${x}" y1="6" y2="${LANE.tools - 30}"/><title>Interrupted: ${seconds(event.heardMs)} of ${seconds(event.itemMs)} heard</title></g>`,
      );
      drawing.text('interrupted', event.atMs + 60, LANE.tools - 34, 'interrupted');
      break;
    }
    case 'resumption':
      drawing.text('latencytext', event.atMs, LANE.tools - 34, 'goes on');
      break;
    case 'line':
      drawing.text('fault', event.atMs, LANE.tools + 22, `line ${event.state}`);
      break;
    case 'media':
      drawing.text('toolname', event.atMs, LANE.tools + 24, `▣ ${cut(event.caption, 24)}`);
      break;
    case 'key':
      drawing.text('key', event.atMs, LANE.caller + 62, '⌨', 'middle');
      break;
    case 'fault':
      drawing.text('fault', event.atMs, LANE.tools + 22, `⚠ ${event.code}`);
      break;
    default:
      event satisfies never;
  }
}

function drawing(record: CallRecord, wav: Buffer, pxPerMs: number): string {
  const durationMs = Math.max(1000, record.durationMs);
  const width = Math.ceil(durationMs * pxPerMs) + LEFT * 2;
  const columns = width - LEFT * 2;
  const canvas = new Drawing(pxPerMs);
  const stepMs = pxPerMs * 1000 >= 16 ? 5000 : 10_000;
  for (let at = 0; at <= durationMs; at += 1000) {
    const major = at % stepMs === 0;
    canvas.add(
      `<line class="${major ? 'major' : 'minor'}" x1="${canvas.x(at)}" x2="${canvas.x(at)}" y1="4" y2="${LANE.axis - 12}"/>`,
    );
    if (major) canvas.text('tick', at, LANE.axis + 4, clock(at).replace(/\.0$/, ''), 'middle');
  }
  for (const event of record.events)
    if (event.type === 'caller_speech' || event.type === 'agent_speech') drawEvent(canvas, event, pxPerMs);
  canvas.add(`<path class="wave callerwave" d="${wavePath(wav, 0, columns, 1, LANE.caller)}"/>`);
  canvas.add(`<path class="wave agentwave" d="${wavePath(wav, 1, columns, 1, LANE.agent)}"/>`);
  for (const event of record.events)
    if (event.type !== 'caller_speech' && event.type !== 'agent_speech') drawEvent(canvas, event, pxPerMs);
  for (const each of record.latencies) {
    const [from, to, y] = [canvas.x(each.speechEndMs), canvas.x(each.agentStartMs), 125];
    canvas.add(
      `<path class="latency" d="M${from.toFixed(1)} ${y - 5}V${y + 5}M${from.toFixed(1)} ${y}H${to.toFixed(1)}M${to.toFixed(1)} ${y - 5}V${y + 5}"/>`,
    );
    canvas.text(
      'latencytext',
      (each.speechEndMs + each.agentStartMs) / 2,
      y - 8,
      seconds(each.latencyMs),
      'middle',
    );
  }
  canvas.add(`<line id="playhead" x1="${LEFT}" x2="${LEFT}" y1="2" y2="${LANE.axis - 8}"/>`);
  return `<svg id="timeline" data-left="${LEFT}" data-px-per-ms="${pxPerMs}" width="${width}" height="${LANE.total}" viewBox="0 0 ${width} ${LANE.total}" role="img" aria-label="Timeline of the call">${canvas}</svg>`;
}

const ROUTES: Readonly<Record<string, string>> = {
  page: 'shown on the page',
  channel: 'in the caller’s chat',
  mms: 'by MMS',
  sms: 'as a link by SMS',
  spoken: 'told of in words',
};

/** Nothing but a picture that we made the address of. */
function picture(event: CallEvent): string {
  if (event.type !== 'media' || event.picture === undefined) return '';
  if (!/^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/.test(event.picture)) return '';
  return `<br><img src="${event.picture}" alt="${html(event.caption)}" style="max-width:20rem">`;
}

function rows(record: CallRecord): string {
  const told = (event: CallEvent): [who: string, what: string, className: string] | null => {
    switch (event.type) {
      case 'caller_speech':
        return ['Caller', event.text ?? '(not written down)', 'caller'];
      case 'agent_speech':
        return [
          event.source === 'verbatim' ? 'Line' : 'Agent',
          `${event.text}${event.whole ? '' : ' — interrupted'}`,
          'agent',
        ];
      case 'tool':
        return [
          event.isError ? 'Tool ✕' : 'Tool',
          `${event.name}(${event.args}) → ${cut(event.output.replace(/\s+/g, ' '), 220)} · ${seconds(event.endMs - event.atMs)}`,
          'tool',
        ];
      case 'interruption':
        return [
          'Interruption',
          `${seconds(event.heardMs)} of ${seconds(event.itemMs)} were heard`,
          'interruption',
        ];
      case 'resumption':
        return ['Goes on', `it was a noise; ${seconds(event.restMs)} had not been heard`, 'agent'];
      case 'line':
        return ['Line', event.state === 'lost' ? 'broke off' : 'is back', 'interruption'];
      case 'media':
        return ['Sent', `${event.caption} (${event.kind}, ${ROUTES[event.route] ?? event.route})`, 'agent'];
      case 'key':
        return ['Key', 'a key was pressed', 'caller'];
      case 'fault':
        return ['Fault', event.code, 'interruption'];
      default:
        return event satisfies never;
    }
  };
  return record.events
    .flatMap((event) => {
      const line = told(event);
      if (!line) return [];
      const [who, what, className] = line;
      return [
        `<tr class="${className}" data-at="${Math.round(event.atMs)}"><td><button>${clock(event.atMs)}</button></td><th scope="row">${html(who)}</th><td>${html(what)}${picture(event)}</td></tr>`,
      ];
    })
    .join('\n');
}

function figures(record: CallRecord): string {
  const latencies = record.latencies.map((each) => each.latencyMs).sort((a, b) => a - b);
  const median = latencies[Math.floor((latencies.length - 1) / 2)];
  const tools = record.events.filter((event) => event.type === 'tool');
  const cells: [string, string][] = [
    ['Length', clock(record.durationMs)],
    ['Turns answered', String(latencies.length)],
    ['Median latency', median === undefined ? '–' : seconds(median)],
    ['Longest latency', latencies.length === 0 ? '–' : seconds(latencies.at(-1) ?? 0)],
    [
      'Tool calls',
      `${tools.length}${tools.some((event) => event.isError) ? ` (${tools.filter((event) => event.isError).length} refused or failed)` : ''}`,
    ],
    ['Interruptions', String(record.events.filter((event) => event.type === 'interruption').length)],
    ['Ended by', record.endReason.replaceAll('_', ' ')],
  ];
  return cells.map(([name, value]) => `<div><dt>${html(name)}</dt><dd>${html(value)}</dd></div>`).join('');
}

/**
 * The page of one call.
 *
 * @param wavPath - the call's `call.wav`: 16-bit PCM, 8 kHz, caller left, agent right
 * @returns a complete HTML document
 */
export async function renderCallPage(record: CallRecord, wavPath: string): Promise<string> {
  const wav = await readFile(wavPath);
  const pxPerMs = Math.min(0.06, Math.max(0.012, 1560 / Math.max(1000, record.durationMs)));
  const source =
    wav.byteLength <= MAX_EMBEDDED_WAV_BYTES ? `data:audio/wav;base64,${wav.toString('base64')}` : 'call.wav';
  const recordedMs = ((wav.byteLength - WAV_HEADER_BYTES) / 4 / RATE) * 1000;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data: 'self' file:; img-src data:">
<title>Call ${html(record.id.slice(0, 8))}</title><style>${CALL_PAGE_STYLE}</style></head><body>
<header><h1>Call <code>${html(record.id.slice(0, 8))}</code></h1><p>${html(record.startedAt.replace('T', ' ').slice(0, 19))} UTC · ${html(record.carrier)} ↔ ${html(record.provider)} · caller ${html(record.identityStrength)}${record.clock === 'virtual' ? ' · on virtual time: computing took none of it' : ''}</p></header>
<dl class="figures">${figures(record)}</dl>
<audio id="audio" controls preload="metadata" src="${source}" data-recorded-ms="${Math.round(recordedMs)}"></audio>
<div class="labels"><span class="caller">Caller</span><span class="agent">Agent</span><span class="verbatim">Said word for word</span><span class="tool">Tool</span><span class="toolerror">Tool refused or failed</span><span class="interruption">Interruption</span></div>
<div class="scroll" tabindex="0">${drawing(record, wav, pxPerMs)}</div>
<table><caption>What happened, in order</caption><thead><tr><th scope="col">At</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>
${rows(record)}
</tbody></table>
<script>${CALL_PAGE_SCRIPT}</script></body></html>
`;
}
