/**
 * The picture of `call.html`, live in this page: a click goes there in the recording, a line shows where it is.
 *
 * @module
 */

import { h, type VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { CallRecord } from '../../src/observe/call-record.ts';
import { timeline } from '../../src/observe/timeline.ts';
import type { Shape } from '../../src/observe/timeline-shape.ts';
import type { Peaks } from '../../src/observe/wav-peaks.ts';

function element(shape: Shape, key?: number): VNode {
  const children = shape.children.map((child, index) =>
    typeof child === 'string' ? child : element(child, index),
  );
  return h(shape.tag, { ...shape.attributes, ...(key === undefined ? {} : { key }) }, children);
}

const LEGEND = [
  ['caller', 'Caller'],
  ['agent', 'Agent'],
  ['verbatim', 'Said word for word'],
  ['tool', 'Tool'],
  ['error', 'Refused, failed or interrupted'],
] as const;

export function TimelineView(props: {
  record: CallRecord;
  peaks: { caller: Peaks; agent: Peaks } | null;
  audio: { readonly current: HTMLAudioElement | null };
}) {
  const { record, peaks, audio } = props;
  const frame = useRef<HTMLElement>(null);
  useEffect(() => {
    const player = audio.current;
    const svg = frame.current?.querySelector<SVGSVGElement>('.timeline');
    const head = svg?.querySelector('.playhead');
    if (!player || !svg || !head) return;
    const [left, scale] = [Number(svg.dataset.left), Number(svg.dataset.pxPerMs)];
    let next = 0;
    const move = () => {
      const x = String(left + player.currentTime * 1000 * scale);
      head.setAttribute('x1', x);
      head.setAttribute('x2', x);
      if (!player.paused) next = requestAnimationFrame(move);
    };
    const seek = (event: MouseEvent) => {
      player.currentTime = Math.max(
        0,
        (event.clientX - svg.getBoundingClientRect().left - left) / scale / 1000,
      );
    };
    player.addEventListener('play', move);
    player.addEventListener('seeked', move);
    svg.addEventListener('click', seek);
    return () => {
      cancelAnimationFrame(next);
      player.removeEventListener('play', move);
      player.removeEventListener('seeked', move);
      svg.removeEventListener('click', seek);
    };
  }, [record, peaks]);
  return (
    <>
      <div class="legend">
        {LEGEND.map(([name, text]) => (
          <span key={name} class={`legend-${name}`}>
            {text}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="timeline-frame" ref={frame} tabIndex={0} aria-label="Timeline">
        {element(timeline(record, peaks))}
      </section>
    </>
  );
}
