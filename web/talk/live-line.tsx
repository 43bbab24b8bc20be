/**
 * Both sides as they sound: the caller above the line, the agent below it, the last seconds from right to left. The same
 * picture, live, as the timeline of a call that is over.
 *
 * @module
 */

import { useEffect, useRef } from 'preact/hooks';
import type { Call } from './call.ts';
import { COLUMN_MS, COLUMNS, type Side } from './meters.ts';

const SIDES = [
  ['caller', 'You'],
  ['agent', 'Agent'],
] as const;

export function LiveLine({ call }: { call: Call }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const bars: Record<Side, { current: HTMLDivElement | null }> = {
    caller: useRef<HTMLDivElement>(null),
    agent: useRef<HTMLDivElement>(null),
  };
  useEffect(() => {
    let frame = 0;
    let columnAt = 0;
    let spokenAt = 0;
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const draw = (at: number) => {
      frame = requestAnimationFrame(draw);
      const levels = call.meters.look(at);
      if (at - columnAt < COLUMN_MS) return;
      columnAt = at;
      call.meters.remember();
      const isTime = at - spokenAt > 500;
      if (isTime) spokenAt = at;
      for (const [side] of SIDES) {
        const bar = bars[side].current;
        if (!bar) continue;
        bar.style.setProperty('--level', levels[side].toFixed(3));
        if (isTime) bar.setAttribute('aria-valuenow', String(Math.round(levels[side] * 100)));
      }
      if (canvas.current && !isStill) paint(canvas.current, call);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <div class="live-line">
      <div class="trace" aria-hidden="true">
        <canvas ref={canvas} />
      </div>
      <div class="meters">
        {SIDES.map(([side, name]) => (
          <div key={side} class={`meter meter-${side}`}>
            <span>{side === 'caller' && call.muted.value ? 'You, muted' : name}</span>
            {/* biome-ignore lint/a11y/useSemanticElements: the element can't be drawn like this in every browser */}
            <div
              ref={bars[side]}
              class="meter-bar"
              role="meter"
              aria-label={`${name}: loudness`}
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={0}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, call: Call): void {
  const scale = devicePixelRatio;
  const [width, height] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(canvas);
  const middle = height / 2;
  const step = width / COLUMNS;
  const bar = Math.max(1, step * 0.55);
  context.clearRect(0, 0, width, height);
  context.fillStyle = style.getPropertyValue('--line');
  context.fillRect(0, middle - scale / 2, width, scale);
  for (const [side] of SIDES) {
    context.fillStyle = style.getPropertyValue(side === 'caller' ? '--caller' : '--accent');
    const history = call.meters.history[side];
    for (let column = 0; column < COLUMNS; column++) {
      const tall = history.at(column) ** 1.5 * (middle - 2 * scale);
      if (tall < scale) continue;
      const y = side === 'caller' ? middle - scale - tall : middle + scale;
      context.fillRect(column * step, y, bar, tall);
    }
  }
}
