/**
 * The picture of a call on one time axis: the caller above, the agent below, tools under both. `call.html` and the
 * operator's page draw it.
 *
 * Runs in browsers too.
 *
 * @module
 */

import type { CallEvent, CallRecord } from './call-record.ts';
import { type Shape, shape } from './timeline-shape.ts';
import { clock, cut, seconds } from './timeline-text.ts';
import type { Peaks } from './wav-peaks.ts';

const LANE = { caller: 60, agent: 190, height: 100, tools: 275, axis: 330, total: 356 } as const;
/** Of one letter at 11 px, about; the widest fonts are wider. */
const LETTER_PX = 6.4;
export const TIMELINE_LEFT = 8;

/** Speech: what the rest is drawn over. */
const isSpeech = ({ type }: CallEvent) => type === 'caller_speech' || type === 'agent_speech';

/** A whole call is to fit on a screen; a long one is scrolled. */
export function timelineScale(durationMs: number): number {
  return Math.min(0.06, Math.max(0.012, 1560 / Math.max(1000, durationMs)));
}

/** Columns of the picture, for {@link Peaks}. */
export function timelineColumns(durationMs: number): number {
  return Math.ceil(Math.max(1000, durationMs) * timelineScale(durationMs));
}

/** Labels of one row: none is written over the one before it. */
class Row {
  readonly y: number;
  #until = 0;

  constructor(y: number) {
    this.y = y;
  }

  /** @returns the text, cut to what fits before `endX`; `null` where there is no room at all */
  place(x: number, text: string, endX: number): string | null {
    const room = Math.floor((endX - x) / LETTER_PX);
    if (text === '' || x < this.#until || room < 3) return null;
    const fitting = cut(text, room);
    this.#until = x + fitting.length * LETTER_PX + 4;
    return fitting;
  }
}

class Canvas {
  readonly shapes: Shape[] = [];
  readonly pxPerMs: number;
  readonly width: number;
  readonly said = new Row(LANE.caller - 40);
  readonly answered = new Row(LANE.agent + 43);
  readonly tools = new Row(LANE.tools + 6);
  readonly sent = new Row(LANE.tools + 24);
  readonly marks = new Row(LANE.tools - 29);

  constructor(pxPerMs: number, width: number) {
    this.pxPerMs = pxPerMs;
    this.width = width;
  }

  x(ms: number): number {
    return Math.round((TIMELINE_LEFT + ms * this.pxPerMs) * 10) / 10;
  }

  span(name: string, fromMs: number, toMs: number, y: number, height: number, title: string): void {
    const width = Math.max(2, (toMs - fromMs) * this.pxPerMs).toFixed(1);
    const box = { class: name, x: this.x(fromMs), y, width, height, rx: 3 };
    this.shapes.push(shape('rect', box, shape('title', {}, title)));
  }

  text(name: string, x: number, y: number, text: string, anchor: 'start' | 'middle' = 'start'): void {
    this.shapes.push(shape('text', { class: name, x, y, 'text-anchor': anchor }, text));
  }

  /** A label that gives way to what is written already. */
  label(name: string, atMs: number, row: Row, text: string, endX = this.width): void {
    const x = this.x(atMs);
    const fitting = row.place(x, text, endX);
    if (fitting !== null) this.text(name, x, row.y, fitting);
  }

  line(name: string, ms: number, y1: number, y2: number): void {
    this.shapes.push(shape('line', { class: name, x1: this.x(ms), x2: this.x(ms), y1, y2 }));
  }
}

/** @param next - where the next event of the same kind begins: labels end there */
function draw(canvas: Canvas, event: CallEvent, next: number): void {
  switch (event.type) {
    case 'caller_speech': {
      const text = event.text ?? '(not written down)';
      canvas.span('caller', event.atMs, event.endMs, LANE.caller - 50, 100, `Caller: ${text}`);
      canvas.label('said', event.atMs, canvas.said, event.text ?? '', next - 6);
      return;
    }
    case 'agent_speech': {
      const name = event.source === 'verbatim' ? 'verbatim' : 'agent';
      const title = `Agent${event.whole ? '' : ' (interrupted)'}: ${event.text}`;
      canvas.span(name, event.atMs, event.endMs, LANE.agent - 50, 100, title);
      canvas.label('said', event.atMs, canvas.answered, event.text, next - 6);
      return;
    }
    case 'tool': {
      const title = `${event.name} ${event.args}\n${seconds(event.endMs - event.atMs)}\n${cut(event.output, 400)}`;
      const name = event.isError ? 'tool error' : 'tool';
      canvas.span(name, event.atMs, Math.max(event.endMs, event.atMs + 5), LANE.tools - 26, 18, title);
      canvas.label('toolname', event.atMs, canvas.tools, `${event.isError ? '✕ ' : ''}${event.name}`);
      return;
    }
    case 'interruption': {
      const title = `Interrupted: ${seconds(event.heardMs)} of ${seconds(event.itemMs)} heard`;
      const x = canvas.x(event.atMs);
      const line = shape('line', { x1: x, x2: x, y1: 6, y2: LANE.tools - 30 });
      canvas.shapes.push(shape('g', { class: 'interruption' }, line, shape('title', {}, title)));
      canvas.label('interrupted', event.atMs + 60, canvas.marks, 'interrupted');
      return;
    }
    case 'resumption':
      canvas.label('latencytext', event.atMs, canvas.marks, 'goes on');
      return;
    case 'line':
      canvas.label('fault', event.atMs, canvas.sent, `line ${event.state}`);
      return;
    case 'media':
      canvas.label('toolname', event.atMs, canvas.sent, `▣ ${cut(event.caption, 24)}`);
      return;
    case 'key':
      canvas.text('key', canvas.x(event.atMs), LANE.caller + 62, '⌨', 'middle');
      return;
    case 'fault':
      canvas.label('fault', event.atMs, canvas.sent, `⚠ ${event.code}`);
      return;
    default:
      event satisfies never;
  }
}

/** When the next event of the same type begins, for each. */
function nextOfItsKind(events: readonly CallEvent[]): (number | null)[] {
  const seen = new Map<CallEvent['type'], number>();
  return events
    .toReversed()
    .map(({ type, atMs }) => {
      const next = seen.get(type) ?? null;
      seen.set(type, atMs);
      return next;
    })
    .reverse();
}

function wave(name: string, peaks: Peaks, middle: number): Shape {
  const parts: string[] = [];
  for (let column = 0; column < peaks.low.length; column++) {
    const top = middle - (peaks.high[column] ?? 0) * (LANE.height / 2);
    const bottom = middle - (peaks.low[column] ?? 0) * (LANE.height / 2);
    if (bottom - top >= 0.8)
      parts.push(`M${(TIMELINE_LEFT + column).toFixed(1)} ${top.toFixed(1)}V${bottom.toFixed(1)}`);
  }
  return shape('path', { class: `wave ${name}`, d: parts.join('') });
}

function axis(canvas: Canvas, durationMs: number): void {
  const stepMs = canvas.pxPerMs * 1000 >= 16 ? 5000 : 10_000;
  for (let at = 0; at <= durationMs; at += 1000) {
    const isMajor = at % stepMs === 0;
    canvas.line(isMajor ? 'major' : 'minor', at, 4, LANE.axis - 12);
    const anchor = at === 0 ? 'start' : 'middle';
    if (isMajor) canvas.text('tick', canvas.x(at), LANE.axis + 4, clock(at).replace(/\.0$/, ''), anchor);
  }
}

function latencies(canvas: Canvas, record: Pick<CallRecord, 'latencies'>): void {
  const y = 125;
  for (const { speechEndMs, agentStartMs, latencyMs } of record.latencies) {
    const [from, to] = [canvas.x(speechEndMs), canvas.x(agentStartMs)];
    const d = `M${from} ${y - 5}V${y + 5}M${from} ${y}H${to}M${to} ${y - 5}V${y + 5}`;
    canvas.shapes.push(shape('path', { class: 'latency', d }));
    canvas.text(
      'latencytext',
      canvas.x((speechEndMs + agentStartMs) / 2),
      y - 8,
      seconds(latencyMs),
      'middle',
    );
  }
}

/** What of a record the picture needs. */
export type TimelineRecord = Pick<CallRecord, 'durationMs' | 'events' | 'latencies'>;

/**
 * @param peaks - how loud both sides were, in {@link timelineColumns} columns; `null` where there is no recording
 * @returns an `svg`; `data-left` and `data-px-per-ms` say where a time lies, and `class="playhead"` is a line for it
 */
export function timeline(record: TimelineRecord, peaks: { caller: Peaks; agent: Peaks } | null): Shape {
  const durationMs = Math.max(1000, record.durationMs);
  const pxPerMs = timelineScale(durationMs);
  const width = Math.ceil(durationMs * pxPerMs) + TIMELINE_LEFT * 2;
  const canvas = new Canvas(pxPerMs, width);
  axis(canvas, durationMs);
  const next = nextOfItsKind(record.events);
  for (const [index, event] of record.events.entries()) {
    const nextAtMs = next[index] ?? null;
    if (isSpeech(event)) draw(canvas, event, nextAtMs === null ? width : canvas.x(nextAtMs));
  }
  if (peaks) {
    canvas.shapes.push(wave('callerwave', peaks.caller, LANE.caller));
    canvas.shapes.push(wave('agentwave', peaks.agent, LANE.agent));
  }
  for (const event of record.events) if (!isSpeech(event)) draw(canvas, event, width);
  latencies(canvas, record);
  const head = { class: 'playhead', x1: TIMELINE_LEFT, x2: TIMELINE_LEFT, y1: 2, y2: LANE.axis - 8 };
  return shape(
    'svg',
    {
      class: 'timeline',
      'data-left': TIMELINE_LEFT,
      'data-px-per-ms': pxPerMs,
      width,
      height: LANE.total,
      viewBox: `0 0 ${width} ${LANE.total}`,
      role: 'img',
      'aria-label': 'Timeline of the call',
    },
    ...canvas.shapes,
    shape('line', head),
  );
}
