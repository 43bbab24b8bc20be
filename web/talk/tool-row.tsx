/**
 * A tool call: one line that opens to what went in and what came out.
 *
 * @module
 */

import { milliseconds, pretty } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import { toolActivity } from './activity.ts';
import { type Entry, toolStatus } from './conversation.ts';

const WORDS = {
  asked: 'waits for approval',
  not_done: 'not done',
  running: 'running',
  done: 'done',
  failed: 'refused or failed',
  left: 'still running when the call ended',
} as const;

export function ToolRow(props: {
  tool: Extract<Entry, { kind: 'tool' }>;
  entries: readonly Entry[];
  isOwner: boolean;
}) {
  const { tool, entries, isOwner } = props;
  const status = toolStatus(tool, entries);
  const activity = toolActivity(tool);
  const tookMs = tool.endedAt === null ? null : tool.endedAt - tool.startedAt;
  const head = (
    <>
      <span class={`tool-state tool-${status}`}>
        {status === 'done' && <Icon name="check" size={14} />}
        {(status === 'failed' || status === 'not_done') && <Icon name="cross" size={14} />}
        {status === 'left' && '…'}
        {status === 'asked' && <Icon name="shield" size={14} />}
        {status === 'running' && <span class="spinner" aria-hidden="true" />}
        <span class="visually-hidden">{WORDS[status]}: </span>
      </span>
      <span class="tool-what">{activity.charAt(0).toUpperCase() + activity.slice(1)}</span>
      <span class="tool-time">
        {tool.approval !== null
          ? WORDS[status]
          : tookMs === null
            ? (tool.progress ?? '')
            : milliseconds(tookMs)}
      </span>
    </>
  );
  if (!isOwner) return <div class="tool tool-closed">{head}</div>;
  return (
    <details class="tool">
      <summary>
        {head}
        <Icon name="chevron" size={16} />
      </summary>
      <div class="tool-inside">
        <h3>
          <code>{tool.name}</code> with
        </h3>
        <pre>{tool.args === null ? '(nothing)' : pretty(tool.args)}</pre>
        <h3>{tool.status === 'failed' ? 'It was refused or failed' : 'Result'}</h3>
        <pre>{tool.output === null ? (tool.progress ?? '(not yet)') : pretty(tool.output)}</pre>
      </div>
    </details>
  );
}
