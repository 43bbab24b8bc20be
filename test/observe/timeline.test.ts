import { describe, expect, it } from 'vitest';
import { writeWav } from '../../src/audio/index.ts';
import type { CallEvent } from '../../src/observe/index.ts';
import { timeline, timelineColumns, timelineScale } from '../../src/observe/timeline.ts';
import { type Shape, toMarkup } from '../../src/observe/timeline-shape.ts';
import { happenings } from '../../src/observe/timeline-text.ts';
import { wavPeaks } from '../../src/observe/wav-peaks.ts';

const said = (atMs: number, text: string): CallEvent => ({
  type: 'caller_speech',
  atMs,
  endMs: atMs + 500,
  text,
  turn: 1,
});

function texts(drawing: Shape, name: string): { x: number; text: string }[] {
  return drawing.children
    .filter((child) => typeof child !== 'string')
    .filter(({ attributes }) => attributes.class === name)
    .map(({ attributes, children }) => ({ x: Number(attributes.x), text: String(children[0]) }));
}

describe('the timeline', () => {
  it('writes no label over the one before it', () => {
    const events = Array.from({ length: 40 }, (_, i) => said(i * 700, `a rather long sentence, number ${i}`));
    const record = { durationMs: 30_000, events, latencies: [] };

    const labels = texts(timeline(record, null), 'said');

    expect(labels.length).toBeGreaterThan(10);
    for (const [index, { x, text }] of labels.entries())
      expect(x + text.length * 6).toBeLessThan(labels[index + 1]?.x ?? Number.POSITIVE_INFINITY);
  });

  it('leaves out a label for which there is no room, and keeps its title', () => {
    const events = [said(1000, 'first'), said(1010, 'second'), said(1020, 'third')];

    const drawing = timeline({ durationMs: 30_000, events, latencies: [] }, null);

    expect(texts(drawing, 'said')).toHaveLength(1);
    expect(toMarkup(drawing)).toContain('Caller: second');
  });

  it('draws as many columns of sound as it is wide, and none without a recording', () => {
    const record = { durationMs: 10_000, events: [], latencies: [] };
    const loud = new Int16Array(80_000).fill(16_384);
    const wav = writeWav({ sampleRate: 8000, channels: [loud, new Int16Array(80_000)] });
    const columns = timelineColumns(record.durationMs);
    const peaks = { caller: wavPeaks(wav, 0, columns), agent: wavPeaks(wav, 1, columns) };

    const drawn = toMarkup(timeline(record, peaks));

    expect(columns).toBe(Math.ceil(10_000 * timelineScale(10_000)));
    expect([...peaks.caller.high].every((each) => each === 0.5)).toBe(true);
    expect(drawn.match(/callerwave" d="([^"]*)"/)?.[1]?.split('M')).toHaveLength(columns + 1);
    expect(drawn).toContain('agentwave" d=""');
    expect(toMarkup(timeline(record, null))).not.toContain('wave');
  });

  it('escapes what was said wherever it stands', () => {
    const text = `"><script>alert('x')</script>`;
    const drawing = toMarkup(timeline({ durationMs: 60_000, events: [said(0, text)], latencies: [] }, null));

    expect(drawing).not.toContain('<script');
    expect(drawing).toContain('&lt;script&gt;');
  });

  it('shows only pictures that can not act', () => {
    const media = (picture: string): CallEvent => ({
      type: 'media',
      atMs: 0,
      kind: 'image',
      caption: 'c',
      route: 'page',
      picture,
    });
    const events = [
      media('data:image/png;base64,AAAA'),
      media('data:image/svg+xml;base64,AAAA'),
      media('javascript:alert(1)'),
    ];

    expect(happenings({ events }).map(({ picture }) => picture?.url)).toEqual([
      'data:image/png;base64,AAAA',
      undefined,
      undefined,
    ]);
  });
});
