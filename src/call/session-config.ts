/**
 * What a model session of this call is opened with.
 *
 * @module
 */

import { type AudioFormat, sameFormat } from '../audio/index.ts';
import type { ToolDefinition } from '../gateway/index.ts';
import type { LegCapabilities } from '../leg/index.ts';
import type { HistoryItem, ModelSessionConfig } from '../model/index.ts';
import { composeInstructions } from './instructions.ts';
import type { CallOptions, CallParts } from './options.ts';
import { toolModeOf } from './tool-policy.ts';
import { voiceToolDefinitions } from './voice-tools.ts';

/** The machine's own; looked up once, because that takes a millisecond. */
const MACHINE_TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The leg's own format where the model takes it, so that nothing is converted; else the model's best. */
function matching(formats: readonly AudioFormat[], leg: AudioFormat): AudioFormat {
  return formats.find((each) => sameFormat(each, leg)) ?? formats[0] ?? leg;
}

/** The model calls a tool by its name: of two with one name only the first is offered, and the call's own come first. */
function withoutNamesakes(
  own: readonly ToolDefinition[],
  hosts: readonly ToolDefinition[],
): ToolDefinition[] {
  const taken = new Set(own.map((each) => each.function.name));
  const others = hosts.filter(({ function: { name } }) => !taken.has(name) && taken.add(name));
  return [...others, ...own];
}

/** The host's tools, its agent, or both, and the call's own. */
function toolsOf(parts: CallParts, leg: LegCapabilities, callId: string): ToolDefinition[] {
  const { gateway, config, media } = parts;
  const mode = toolModeOf(parts);
  const all = mode === 'delegate' ? [] : (gateway?.getToolDefinitions() ?? []);
  const hosts = media ? media.visible(callId, all) : all;
  const hasDelegate = mode !== 'direct';
  const own = voiceToolDefinitions({ leg, config, hasTools: hosts.length > 0, hasDelegate });
  return withoutNamesakes(own, hosts);
}

export function sessionConfig(
  { id, parts, info }: CallOptions,
  history: readonly HistoryItem[],
): ModelSessionConfig {
  const { capabilities } = parts.models;
  const tools = toolsOf(parts, info.leg, id);
  return {
    instructions: composeInstructions({
      persona: parts.persona,
      caller: info.identity,
      route: info.carrier,
      locale: parts.config.locale,
      timezone: parts.config.timezone ?? MACHINE_TIMEZONE,
      now: parts.clock.wallNow(),
      hasTools: tools.length > 1,
      hasHistory: history.length > 0,
    }),
    tools,
    inputFormat: matching(capabilities.inputFormats, info.leg.input),
    outputFormat: matching(capabilities.outputFormats, info.leg.output),
    history,
  };
}
