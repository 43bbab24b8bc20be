/**
 * By what this line can decide about a tool, and how it is asked then.
 *
 * @module
 */

import type { ApprovalInput } from '../../config-approvals.ts';
import { isAtLeastInput } from '../policy.ts';
import { spokenDigits } from './challenge.ts';
import type { LineOptions } from './line-options.ts';

type Options = Pick<LineOptions, 'floor' | 'recogniser' | 'policy' | 'wording'>;

/** Inputs that this line has and that may approve this tool. */
export function lineInputs({ floor, recogniser, policy }: Options, tool: string): readonly ApprovalInput[] {
  const current = policy();
  const has = { button: floor.screen, keypad: floor.keys, speech: recogniser !== null };
  return current.config.inline.inputs.filter(
    (input) => has[input] && isAtLeastInput(input, current.minimumInput(tool)),
  );
}

/** The one sentence of the prompt, for the inputs that there are. */
export function promptText(options: Options, tool: string, summary: string, challenge: string): string {
  const { prompt, digits } = options.wording;
  const inputs = lineInputs(options, tool);
  const [speech, keys] = [inputs.includes('speech'), inputs.includes('keypad')];
  const text =
    speech && keys ? prompt.speechAndKeys : speech ? prompt.speech : keys ? prompt.keys : prompt.button;
  return fill(text, { summary, code: spokenDigits(challenge, digits) });
}

/** Puts values in the place of their names in braces. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
