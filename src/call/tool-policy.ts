/**
 * How long a tool may take and what an interruption or a hang-up does to it: the config's word, else ours.
 *
 * @module
 */

import type { RealtimeConfig } from '../config.ts';
import { toolMatcher } from '../gateway/index.ts';
import type { CallParts } from './options.ts';
import type { ToolPolicy } from './tools.ts';
import { ASK_AGENT, SEND_DTMF, TRANSFER_CALL } from './voice-tools.ts';

/** What the model may call; without an agent to ask, the tools themselves. */
export function toolModeOf(parts: Pick<CallParts, 'config' | 'delegate'>): RealtimeConfig['tools']['mode'] {
  return parts.delegate ? parts.config.tools.mode : 'direct';
}

/** Names that only read: nothing is lost when they are aborted. Anything else may have begun to act. */
const READ_ONLY = /^(read|list|find|get|search|look|show|grep|web_fetch|web_search|current)(_|$)/;

/** Tools that take the machine for themselves, as nanobot marks them. */
const EXCLUSIVE = new Set(['exec']);

const ON_THE_LINE = new Set([TRANSFER_CALL, SEND_DTMF]);

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

/** The policy of each tool as the config has it; what an entry leaves out stays as it is by default. */
export function toolPolicyOf({
  tools,
  limits,
}: Pick<RealtimeConfig, 'tools' | 'limits'>): (name: string) => ToolPolicy {
  const byName = defaultToolPolicy(limits.toolTimeoutS * 1000);
  const ours = voiceToolPolicies(tools.askTimeoutS * 1000);
  const entries = tools.policies.map((entry) => ({ entry, fits: toolMatcher([entry.tool]) }));
  return (name) => {
    const policy = { ...byName(name), ...(Object.hasOwn(ours, name) ? ours[name] : {}) };
    const entry = entries.find(({ fits }) => fits(name))?.entry;
    if (!entry) return policy;
    return {
      timeoutMs: entry.timeoutS === undefined ? policy.timeoutMs : entry.timeoutS * 1000,
      exclusive: entry.exclusive ?? policy.exclusive,
      onInterrupt: entry.onInterrupt ?? policy.onInterrupt,
      // What acts on the line ends with it, whatever a glob of the config says.
      onHangup: ON_THE_LINE.has(name) ? 'abort' : (entry.onHangup ?? policy.onHangup),
    };
  };
}

function voiceToolPolicies(askTimeoutMs: number): Readonly<Record<string, Partial<ToolPolicy>>> {
  return {
    // The agent works on one request of a session at a time. Its answer is in the session anyway.
    [ASK_AGENT]: { timeoutMs: askTimeoutMs, exclusive: true, onInterrupt: 'abort', onHangup: 'finish' },
    [TRANSFER_CALL]: { onInterrupt: 'abort', onHangup: 'abort' },
    [SEND_DTMF]: { onInterrupt: 'abort', onHangup: 'abort' },
  };
}
