/**
 * The keys of the telephone: mute, keypad, settings, hang up.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { Icon } from '../shared/icons.tsx';
import type { Call } from './call.ts';
import { DevicesDialog } from './devices-dialog.tsx';
import { Keypad } from './keypad.tsx';

export function Controls({ call }: { call: Call }) {
  const open = useSignal<'none' | 'keypad' | 'devices'>('none');
  const isMuted = call.muted.value;
  const close = () => {
    open.value = 'none';
  };
  return (
    <section class="controls" aria-label="Keys">
      <button type="button" class="control" aria-pressed={isMuted} onClick={() => call.mute(!isMuted)}>
        <Icon name={isMuted ? 'micOff' : 'mic'} />
        <span>Mute</span>
      </button>
      <button type="button" class="control" aria-haspopup="dialog" onClick={() => (open.value = 'keypad')}>
        <Icon name="keypad" />
        <span>Keypad</span>
      </button>
      <button type="button" class="control" aria-haspopup="dialog" onClick={() => (open.value = 'devices')}>
        <Icon name="settings" />
        <span>Devices</span>
      </button>
      <button type="button" class="control hangup" onClick={() => call.hangup()}>
        <Icon name="hangup" />
        <span>Hang up</span>
      </button>
      {open.value === 'keypad' && <Keypad call={call} onClose={close} />}
      {open.value === 'devices' && <DevicesDialog call={call} onClose={close} />}
    </section>
  );
}
