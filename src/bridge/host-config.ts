/**
 * The section of the config as it holds for a host on the other side of the bridge: what that can't give is not offered,
 * and a gate that would not hold is refused. Pure.
 *
 * @module
 */

import type { RealtimeConfig } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { VoiceError } from '../errors.ts';
import type { Initialize, ToolAccess } from '../gateway/remote/index.ts';

export function hostConfig(section: RealtimeConfig, toolAccess: ToolAccess): RealtimeConfig {
  const mode = toolAccess.level === 'delegate' ? 'delegate' : section.tools.mode;
  // The host's own rules count, its pairing included: it is asked for each call.
  return {
    ...section,
    allowFrom: ['*'],
    tools: { ...section.tools, mode: toolAccess.level === 'none' ? 'direct' : mode },
  };
}

/** A gate must not fail open, and must not have a way around it. @throws VoiceError `CONFIG_INVALID` */
export function checkGate({ toolAccess }: Pick<Initialize, 'toolAccess'>, config: RealtimeConfig): void {
  const { approvals, tools } = config;
  if (!isGateOn(approvals.toolGate) || toolAccess.gate || approvals.scope === 'voiceOnly') return;
  if (tools.mode === 'direct') return;
  throw new VoiceError(
    'CONFIG_INVALID',
    `channels.realtime.approvals.toolGate is on, and calls may ask the agent (tools.mode: ${tools.mode}), whose own tools ` +
      `the gate does not reach at toolAccess '${toolAccess.level}'. Set toolAccess to "full", or tools.mode to "direct", or ` +
      'accept it in writing with approvals.scope: "voiceOnly".',
  );
}

/** The host's deadline of one tool; the call's own, by its policies, is never later. */
export function longestToolMs({ limits, tools }: RealtimeConfig): number {
  const all = [limits.toolTimeoutS, ...tools.policies.map(({ timeoutS }) => timeoutS ?? 0)];
  return Math.ceil(Math.max(...all) * 1000);
}

/** What a person should read of how far this channel reaches. */
export function notesOf({ toolAccess }: Pick<Initialize, 'toolAccess'>, config: RealtimeConfig): string[] {
  const { requested, level, note } = toolAccess;
  const isOn = isGateOn(config.approvals.toolGate);
  return [
    ...(level === requested
      ? []
      : [`Tools are reached at level '${level}', not '${requested}'${note ? `: ${note}` : '.'}`]),
    ...(isOn && !toolAccess.gate
      ? ['The approval gate holds for what calls run themselves, not for what the agent runs elsewhere.']
      : []),
  ];
}
