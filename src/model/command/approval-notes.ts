/**
 * What the gate answers in a tool's place, and its notes of what came of a request: the caller has heard these, or hears
 * them, from the approvals themselves, word for word.
 *
 * @module
 */

import type { CommandPrompts } from './prompts.ts';

/** The spoken words, empty for none; `null` when the text is nothing of the gate's. */
export function sayApproval(text: string, prompts: CommandPrompts): string | null {
  const note = /^Request [0-9a-f]{32} \([^)]*\) [\s\S]*$/.test(text);
  if (note) return '';
  if (!text.startsWith('{"status":"')) return null;
  const status = /^\{"status":"(pending_approval|staged)","tool":/.exec(text)?.[1];
  if (status === undefined) return null;
  return status === 'staged' ? prompts.approvalStaged : '';
}
