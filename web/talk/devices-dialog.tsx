/**
 * Which microphone, which speaker, and what is done against echo.
 *
 * @module
 */

import { Dialog } from '../shared/dialog.tsx';
import type { Call } from './call.ts';
import { canChooseSpeaker } from './microphone.ts';

function Choice(props: {
  label: string;
  devices: readonly MediaDeviceInfo[];
  value: string;
  onChange: (deviceId: string) => void;
}) {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        <option value="">The system’s choice</option>
        {props.devices
          .filter(({ deviceId }) => deviceId !== 'default')
          .map(({ deviceId, label }, index) => (
            <option key={deviceId} value={deviceId}>
              {label || `${props.label} ${index + 1}`}
            </option>
          ))}
      </select>
    </label>
  );
}

export function DevicesDialog({ call, onClose }: { call: Call; onClose: () => void }) {
  const settings = call.settings.value;
  const { microphones, speakers } = call.devices.value;
  const echo = call.echoCancellation.value;
  return (
    <Dialog title="Microphone and speaker" onClose={onClose}>
      <div class="choices">
        <Choice
          label="Microphone"
          devices={microphones}
          value={settings.microphone}
          onChange={(microphone) => void call.choose({ microphone })}
        />
        {canChooseSpeaker ? (
          <Choice
            label="Speaker"
            devices={speakers}
            value={settings.speaker}
            onChange={(speaker) => void call.choose({ speaker })}
          />
        ) : (
          <p class="hint">This browser plays where the system plays; the speaker is chosen there.</p>
        )}
        {microphones.length === 0 && (
          <p class="hint">More can be chosen once this page has used the microphone.</p>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={settings.echoCancellation}
            onChange={(event) => void call.choose({ echoCancellation: event.currentTarget.checked })}
          />
          <span>
            Echo cancellation
            <span class="hint">
              {echo === null
                ? 'Turn it off only with headphones.'
                : echo
                  ? 'On: the agent does not hear itself.'
                  : 'Off: use headphones, or the agent hears itself.'}
            </span>
          </span>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={settings.readCaptions}
            onChange={(event) => void call.choose({ readCaptions: event.currentTarget.checked })}
          />
          <span>
            Screen reader reads captions
            <span class="hint">Off: the agent’s own voice is enough.</span>
          </span>
        </label>
      </div>
    </Dialog>
  );
}
