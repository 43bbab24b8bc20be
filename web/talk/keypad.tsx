/**
 * Twelve keys, by hand or from the keyboard. What was pressed is shown as dots: it may be a code.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { Dialog } from '../shared/dialog.tsx';
import type { Call } from './call.ts';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'] as const;
const NAMES: Readonly<Record<string, string>> = { '*': 'star', '#': 'hash' };
const MAX_DOTS = 16;

export function Keypad({ call, onClose }: { call: Call; onClose: () => void }) {
  const pressed = useSignal(0);
  const press = (digit: string) => {
    call.press(digit);
    pressed.value++;
  };
  // Not after the next picture: a key that follows the click at once is a digit of the caller’s, too.
  useLayoutEffect(() => {
    const onKey = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      if (!ctrlKey && !metaKey && !altKey && /^[0-9*#]$/.test(key)) press(key);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <Dialog title="Keypad" class="keypad-dialog" onClose={onClose}>
      <p class="keypad-shown" role="status" aria-label={`${pressed.value} keys pressed`}>
        {'•'.repeat(Math.min(pressed.value, MAX_DOTS))}
      </p>
      <div class="keypad">
        {KEYS.map((key) => (
          <button key={key} type="button" aria-label={NAMES[key] ?? key} onClick={() => press(key)}>
            {key}
          </button>
        ))}
      </div>
    </Dialog>
  );
}
