/**
 * What a screen reader says: the line, requests, pictures. What the agent says it leaves to the agent, unless it is asked
 * to read captions too.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks';
import type { Call } from './call.ts';
import type { Entry } from './conversation.ts';

function announcement(entry: Entry, withCaptions: boolean): string | null {
  switch (entry.kind) {
    case 'approval': {
      const { summary, status, canDecide } = entry.approval;
      if (status !== 'pending') return null;
      return `Approval needed: ${summary}.${canDecide ? ' There are buttons to approve and to deny.' : ''}`;
    }
    case 'media':
      return `Received: ${entry.media.caption || entry.media.name}.`;
    case 'note':
      return entry.text;
    case 'said':
      return withCaptions && entry.role === 'assistant' && entry.final ? entry.text : null;
    case 'tool':
      return null;
    default:
      return entry satisfies never;
  }
}

export function Announcer({ call, status }: { call: Call; status: string }) {
  const { entries } = call.conversation.value;
  const [said, say] = useState({ key: '', text: '' });
  const withCaptions = call.settings.value.readCaptions;
  const newest = entries.findLast((entry) => announcement(entry, withCaptions) !== null);
  useEffect(() => {
    if (newest && newest.key !== said.key)
      say({ key: newest.key, text: announcement(newest, withCaptions) ?? '' });
  }, [newest?.key]);
  const isAlarm = newest?.kind === 'approval';
  // The agent's own states change with every breath: only the line's are spoken.
  const isLine = call.line.value.at !== 'live';
  return (
    <div class="visually-hidden">
      <div aria-live="polite">{isLine ? status : 'On the line'}</div>
      <div aria-live={isAlarm ? 'assertive' : 'polite'}>{said.text}</div>
    </div>
  );
}
