/**
 * A dialog of the browser's own: focus stays in it, Escape closes it, and the page behind it is inert.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

export function Dialog(props: {
  title: string;
  class?: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the next key: it is for the dialog, and not for the button that opened it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${props.class ?? ''}`}
      aria-labelledby={titleId}
      onClose={props.onClose}
      // A click beside it closes it, as people expect; Escape does the same for the keyboard.
      onMouseDown={(event) => {
        if (event.target === ref.current) ref.current?.close();
      }}
    >
      <div class="dialog-inside">
        <header class="dialog-head">
          <h2 id={titleId}>{props.title}</h2>
          <button type="button" class="quiet round" aria-label="Close" onClick={() => ref.current?.close()}>
            <Icon name="cross" size={18} />
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
