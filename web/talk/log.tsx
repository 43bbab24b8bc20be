/**
 * What was said, done, asked and sent, in order. It stays at its end unless the reader went back.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { ApprovalCard } from './approval-card.tsx';
import type { Call } from './call.ts';
import { type Entry, splitHeard } from './conversation.ts';
import { MediaFigure } from './media-figure.tsx';
import type { PageSession } from './session.ts';
import { ToolRow } from './tool-row.tsx';

/** So near to the end counts as the end. */
const NEAR_PX = 60;

export function Log({ call, session }: { call: Call; session: PageSession }) {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useSignal(true);
  const { entries } = call.conversation.value;
  const toEnd = () => {
    const log = ref.current;
    if (log) log.scrollTop = log.scrollHeight;
  };
  useEffect(() => {
    if (isAtEnd.value) toEnd();
  }, [entries]);
  return (
    <main class="log-frame">
      <div
        class="log"
        ref={ref}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.value = scrollHeight - scrollTop - clientHeight < NEAR_PX;
        }}
      >
        <div class="log-inside">
          {entries.length === 0 && <p class="log-empty">What is said appears here.</p>}
          {entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} call={call} session={session} onSize={toEnd} />
          ))}
        </div>
      </div>
      {!isAtEnd.value && (
        <button type="button" class="to-end" onClick={toEnd}>
          <Icon name="down" size={16} />
          Latest
        </button>
      )}
    </main>
  );
}

function EntryView(props: { entry: Entry; call: Call; session: PageSession; onSize: () => void }) {
  const { entry, call, session, onSize } = props;
  switch (entry.kind) {
    case 'said':
      return <Said entry={entry} agent={session.agent.name} />;
    case 'tool':
      return (
        <ToolRow tool={entry} entries={call.conversation.value.entries} isOwner={session.role === 'owner'} />
      );
    case 'approval':
      return <ApprovalCard approval={entry.approval} call={call} />;
    case 'media':
      return <MediaFigure media={entry.media} onShown={() => call.receipt(entry.media.id)} onSize={onSize} />;
    case 'note':
      return <p class="note">{entry.text}</p>;
    default:
      return entry satisfies never;
  }
}

function Said({ entry, agent }: { entry: Extract<Entry, { kind: 'said' }>; agent: string }) {
  const { heard, unheard } = splitHeard(entry.text, entry.heard);
  const isCaller = entry.role === 'user';
  return (
    <article class={`said ${isCaller ? 'said-caller' : 'said-agent'} ${entry.final ? '' : 'said-open'}`}>
      <h2 class="speaker">
        {isCaller ? 'You' : agent}
        {entry.typed && <span class="dim"> typed</span>}
      </h2>
      <p>
        {heard}
        {unheard.trim() !== '' && (
          <>
            <span class="visually-hidden"> (interrupted; not heard:) </span>
            <s class="unheard" title="You interrupted: this was not heard">
              {unheard}
            </s>
          </>
        )}
      </p>
    </article>
  );
}
