/**
 * The pages' few icons: strokes of one weight, in the colour of the text.
 *
 * @module
 */

const PATHS = {
  phone:
    'M6.6 3.5h2.5l1.7 4.2-2 1.6a12 12 0 0 0 5.9 5.9l1.6-2 4.2 1.7v2.5a2 2 0 0 1-2.2 2A16.6 16.6 0 0 1 4.6 5.7a2 2 0 0 1 2-2.2Z',
  hangup: 'M3 13.2c5.2-4.6 12.8-4.6 18 0l-.6 3.2-4-.6-.6-2.8a12 12 0 0 0-7.6 0l-.6 2.8-4 .6L3 13.2Z',
  mic: 'M12 3.5a2.7 2.7 0 0 1 2.7 2.7v5.1a2.7 2.7 0 0 1-5.4 0V6.2A2.7 2.7 0 0 1 12 3.5ZM6.2 11a5.8 5.8 0 0 0 11.6 0M12 16.8v3.7',
  micOff:
    'M14.7 9V6.2a2.7 2.7 0 0 0-5.2-1M9.3 9.3v2a2.7 2.7 0 0 0 4.4 2.1M6.2 11a5.8 5.8 0 0 0 9.4 4.5M17.8 11c0 .9-.2 1.7-.5 2.5M12 16.8v3.7M4 4l16 16',
  keypad:
    'M6 5.5h.01M12 5.5h.01M18 5.5h.01M6 11.5h.01M12 11.5h.01M18 11.5h.01M6 17.5h.01M12 17.5h.01M18 17.5h.01',
  settings:
    'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4ZM9 14.8a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4Z',
  send: 'M12 19V5M6 11l6-6 6 6',
  file: 'M7 3.5h6.5L18 8v12.5H7zM13.5 3.5V8H18',
  download: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  chevron: 'M9 6l6 6-6 6',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  shield: 'M12 3.5l7 2.6v5.4c0 4.4-3 7.6-7 9-4-1.4-7-4.6-7-9V6.1z',
  down: 'M12 5v14M6 13l6 6 6-6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 22 }: { name: IconName; size?: number }) {
  return (
    <svg
      class={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
