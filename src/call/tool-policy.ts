/**
 * How long a tool may take and what an interruption or a hang-up does to it.
 *
 * @module
 */

import type { ToolPolicy } from './tools.ts';

/** Names that only read: nothing is lost when they are aborted. Anything else may have begun to act. */
const READ_ONLY = /^(read|list|find|get|search|look|show|grep|web_fetch|web_search|current)(_|$)/;

/** Tools that take the machine for themselves, as nanobot marks them. */
const EXCLUSIVE = new Set(['exec']);

export function defaultToolPolicy(timeoutMs: number): (name: string) => ToolPolicy {
  return (name) => {
    const readOnly = READ_ONLY.test(name.replace(/^mcp_[^_]+_/, ''));
    return {
      timeoutMs,
      exclusive: EXCLUSIVE.has(name),
      onInterrupt: readOnly ? 'abort' : 'finish',
      onHangup: readOnly ? 'abort' : 'finish',
    };
  };
}
