/**
 * The approvals board: what waits for a person, what became of the rest, and the grants.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { ApiError } from '../shared/api.ts';
import { confirmPolicy } from './api.ts';
import { ApprovalCard } from './approval-card.tsx';
import { AskDialog, type Asking } from './ask-dialog.tsx';
import { NEEDS_PERSON, neighbour } from './board.ts';
import type { Board } from './board-state.ts';
import { Grants } from './grants.tsx';

export function ApprovalsView({ board }: { board: Board }) {
  const asking = useSignal<Asking | null>(null);
  const ref = useRef<HTMLDivElement>(null);
  const all = board.columns.value;
  const ask = (next: Asking) => {
    asking.value = next;
  };
  const onKey = (event: KeyboardEvent) => {
    const card =
      event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('[data-card]') : null;
    const id = card?.dataset.card;
    if (!card || id === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith('Arrow')) {
      event.preventDefault();
      const next = neighbour(all, id, event.key);
      ref.current?.querySelector<HTMLElement>(`[data-card="${next}"]`)?.focus();
      return;
    }
    const approval = board.cards.value.get(id);
    // Only with the card itself in hand: a key on a button is the button's.
    if (!approval || event.target !== card) return;
    const key = event.key.toLowerCase();
    if (approval.column === 'Waiting' && (key === 'a' || key === 'd')) {
      event.preventDefault();
      ask({ what: key === 'a' ? 'approve' : 'deny', approval });
    }
  };
  return (
    <>
      <div class="view-head">
        <h1>Approvals</h1>
        <p class="hint" role="status">
          {board.isLive.value ? 'Live' : 'Not connected; trying again…'}
        </p>
      </div>
      <PolicyBanner board={board} />
      <p class="hint keys">
        Arrow keys move between cards, <kbd>A</kbd> approves, <kbd>D</kbd> denies; each asks again first.
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the cards in it take the keys */}
      <div class="board" ref={ref} onKeyDown={onKey}>
        {all
          .filter(({ name, cards }) => cards.length > 0 || NEEDS_PERSON.has(name))
          .map(({ name, cards }) => (
            <section key={name} class={`column column-${name.toLowerCase()}`} aria-label={name}>
              <h2>
                {name} <span class="count">{cards.length}</span>
              </h2>
              {cards.length === 0 && <p class="empty">Nothing</p>}
              {cards.map((approval) => (
                <ApprovalCard key={approval.id} approval={approval} onAsk={ask} />
              ))}
            </section>
          ))}
      </div>
      <p class="hint">
        {all.filter(({ name, cards }) => cards.length === 0 && !NEEDS_PERSON.has(name)).length > 0 &&
          `Empty: ${all
            .filter(({ name, cards }) => cards.length === 0 && !NEEDS_PERSON.has(name))
            .map(({ name }) => name)
            .join(', ')}.`}
      </p>
      <Grants />
      {asking.value && (
        <AskDialog
          asking={asking.value}
          onDone={(approval) => {
            if (approval) board.put(approval);
            asking.value = null;
          }}
        />
      )}
    </>
  );
}

function PolicyBanner({ board }: { board: Board }) {
  const error = useSignal('');
  const { editWaits, editBroken } = board.policy.value;
  if (!editWaits && !editBroken) return null;
  const confirm = async () => {
    try {
      await confirmPolicy();
      await board.load();
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
  };
  return (
    <div class="banner" role="status">
      {editBroken && <p>The last edit of the policy can’t be read. The policy before it is in force.</p>}
      {editWaits && (
        <>
          <p>An edit of the config loosens the policy. It waits for you, or for a restart.</p>
          <button type="button" onClick={() => void confirm()}>
            Apply the looser policy
          </button>
        </>
      )}
      <p class="problem" role="alert">
        {error.value}
      </p>
    </div>
  );
}
