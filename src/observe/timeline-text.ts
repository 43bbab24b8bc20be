/**
 * A call record in words: what happened, in order, and its figures. For `call.html` and the operator's page.
 *
 * Runs in browsers too.
 *
 * @module
 */

import type { CallEvent, CallRecord } from './call-record.ts';

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** `1:05.3` */
export function clock(ms: number): string {
  const s = Math.floor(ms / 1000);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}.${Math.floor((ms % 1000) / 100)}`;
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const ROUTES: Readonly<Record<string, string>> = {
  page: 'shown on the page',
  channel: 'in the caller’s chat',
  mms: 'by MMS',
  sms: 'as a link by SMS',
  spoken: 'told of in words',
};

export interface Happening {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  /** Colour: `caller`, `agent`, `tool`, `interruption`. */
  readonly kind: 'caller' | 'agent' | 'tool' | 'interruption';
  /** A `data:` address of a picture that was sent, of a type that can't act. */
  readonly picture?: { readonly url: string; readonly caption: string };
}

const PICTURE = /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=]+$/;

function told(event: CallEvent): Omit<Happening, 'atMs' | 'picture'> {
  switch (event.type) {
    case 'caller_speech':
      return { who: 'Caller', what: event.text ?? '(not written down)', kind: 'caller' };
    case 'agent_speech': {
      const what = `${event.text}${event.whole ? '' : ' — interrupted'}`;
      return { who: event.source === 'verbatim' ? 'Line' : 'Agent', what, kind: 'agent' };
    }
    case 'tool': {
      const output = cut(event.output.replace(/\s+/g, ' '), 220);
      const what = `${event.name}(${event.args}) → ${output} · ${seconds(event.endMs - event.atMs)}`;
      return { who: event.isError ? 'Tool ✕' : 'Tool', what, kind: 'tool' };
    }
    case 'interruption': {
      const what = `${seconds(event.heardMs)} of ${seconds(event.itemMs)} were heard`;
      return { who: 'Interruption', what, kind: 'interruption' };
    }
    case 'resumption': {
      const what = `it was a noise; ${seconds(event.restMs)} had not been heard`;
      return { who: 'Goes on', what, kind: 'agent' };
    }
    case 'line':
      return { who: 'Line', what: event.state === 'lost' ? 'broke off' : 'is back', kind: 'interruption' };
    case 'media': {
      const what = `${event.caption} (${event.kind}, ${ROUTES[event.route] ?? event.route})`;
      return { who: 'Sent', what, kind: 'agent' };
    }
    case 'key':
      return { who: 'Key', what: 'a key was pressed', kind: 'caller' };
    case 'fault':
      return { who: 'Fault', what: event.code, kind: 'interruption' };
    default:
      return event satisfies never;
  }
}

export function happenings({ events }: Pick<CallRecord, 'events'>): Happening[] {
  return events.map((event) => ({
    atMs: event.atMs,
    ...told(event),
    // Nothing but a picture that we made the address of.
    ...(event.type === 'media' &&
      event.picture !== undefined &&
      PICTURE.test(event.picture) && { picture: { url: event.picture, caption: event.caption } }),
  }));
}

export type FiguresRecord = Pick<CallRecord, 'durationMs' | 'events' | 'latencies' | 'endReason'>;

export function figures(record: FiguresRecord): [name: string, value: string][] {
  const latencies = record.latencies.map((each) => each.latencyMs).sort((a, b) => a - b);
  const median = latencies[Math.floor((latencies.length - 1) / 2)];
  const tools = record.events.filter((event) => event.type === 'tool');
  const failed = tools.filter((event) => event.isError).length;
  return [
    ['Length', clock(record.durationMs)],
    ['Turns answered', String(latencies.length)],
    ['Median latency', median === undefined ? '–' : seconds(median)],
    ['Longest latency', latencies.length === 0 ? '–' : seconds(latencies.at(-1) ?? 0)],
    ['Tool calls', `${tools.length}${failed > 0 ? ` (${failed} refused or failed)` : ''}`],
    ['Interruptions', String(record.events.filter((event) => event.type === 'interruption').length)],
    ['Ended by', record.endReason.replaceAll('_', ' ')],
  ];
}
