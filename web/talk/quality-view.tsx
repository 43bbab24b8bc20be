/**
 * The connection in one word; behind it, the numbers.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { Dialog } from '../shared/dialog.tsx';
import { milliseconds } from '../shared/format.ts';
import type { Call } from './call.ts';

const percent = (value: number | null) => (value === null ? '–' : `${value.toFixed(1)} %`);

/** The line as one word; a line that is away has no quality. */
export function lineWord(call: Call): string {
  const line = call.line.value;
  if (line.at === 'unsure') return 'Unsteady';
  if (line.at !== 'live') return 'Away';
  const word = call.quality.value;
  return word === null ? 'Connected' : `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

export function Quality({ call }: { call: Call }) {
  const isOpen = useSignal(false);
  const word = lineWord(call);
  const numbers = call.numbers.value;
  const { latency } = call.conversation.value;
  const rows: readonly (readonly [string, string])[] = [
    ['Way', call.way.value === 'socket' ? 'WebSocket, over TCP' : 'WebRTC'],
    ['Lost on the way here', percent(numbers.lossInPercent)],
    ['Lost on the way to the agent', percent(numbers.lossOutPercent)],
    ['Filled in here', percent(numbers.concealedPercent)],
    ['There and back', milliseconds(numbers.roundTripMs)],
    ['Sound waits here', milliseconds(numbers.bufferMs)],
    ['Last answer after', latency === null ? '–' : milliseconds(latency.latencyMs)],
    ['… of it tools', latency === null ? '–' : milliseconds(latency.toolMs)],
  ];
  return (
    <>
      <button
        type="button"
        class="quality"
        data-word={word.toLowerCase()}
        aria-haspopup="dialog"
        aria-label={`Connection: ${word}. Show the numbers`}
        onClick={() => (isOpen.value = true)}
      >
        <span class="dot" aria-hidden="true" />
        {word}
      </button>
      {isOpen.value && (
        <Dialog title={`Connection: ${word.toLowerCase()}`} onClose={() => (isOpen.value = false)}>
          <dl class="numbers">
            {rows.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
