/**
 * What the model is told. Each text says what did not happen and what not to do about it, so that nothing is claimed to
 * the caller that has not happened.
 *
 * @module
 */

import type { ToolResult } from '../gateway/index.ts';
import type { ApprovalStatus } from '../store/index.ts';

const result = (
  status: string,
  message: string,
  more: Readonly<Record<string, string>> = {},
  isError = false,
): ToolResult => ({
  content: JSON.stringify({ status, ...more, message }),
  isError,
});

/** A person on the line is being asked. */
export const pendingResult = (tool: string, id: string): ToolResult =>
  result(
    'pending_approval',
    `${tool} has not run. The person on the line is being asked to approve it, by us and not by you. Do not say that it is done, do not ask them yourself, do not call it again. What comes of it follows as a message that names request ${id}.`,
    { tool, request: id },
  );

/** Nobody can decide now: it waits for a person. Not an error. */
export const stagedResult = (tool: string, id: string): ToolResult =>
  result(
    'staged',
    `${tool} has not run. It waits for a person's approval as request ${id}; this is expected. Tell the caller so if it matters, go on without it, do not call it again and do not try to do the same by other means. If it is approved in time it runs by itself and its result follows.`,
    { tool, request: id },
  );

/** The policy forbids it, whoever approves. */
export const deniedByPolicyResult = (tool: string): ToolResult =>
  result(
    'denied',
    `${tool} has not run and will not: the operator's policy forbids it. Do not retry, do not rephrase, do not try to do the same by other means.`,
    { tool },
    true,
  );

/** What could not be written down exactly, or not stored, can not be approved. */
export const unapprovableResult = (tool: string, why: string): ToolResult =>
  result('denied', `${tool} has not run: ${why} Do not claim that it ran.`, { tool }, true);

/** The later item in the conversation: names the tool and the request. */
export function laterText(
  record: {
    readonly tool: string;
    readonly id: string;
    readonly status: ApprovalStatus;
    readonly reason: string | null;
  },
  output: string | null,
): string {
  const head = `Request ${record.id} (${record.tool})`;
  switch (record.status) {
    case 'executed':
      return `${head} was approved and ran once. Result: ${output ?? '(tool completed with no output)'}`;
    case 'failed':
      return `${head} was approved, and running it failed. Do not call it again by yourself. Result: ${output ?? 'no details.'}`;
    case 'denied':
      return `${head} was denied${record.reason ? ` (${record.reason})` : ''}. Nothing ran. Do not retry, do not rephrase, do not try to reach the same by another tool. Wait for what the caller wants.`;
    case 'expired':
      return `${head} was not answered in time. Silence is not consent: nothing ran. Do not retry by yourself; if the caller still wants it, they can ask for it again.`;
    case 'cancelled':
      return `${head} was cancelled before anybody decided${record.reason ? ` (${record.reason})` : ''}. Nothing ran, and nobody refused it. Do not say that it was denied or done.`;
    case 'unknown':
      return `${head} was approved and began to run, and it is not known whether it took effect. It will not be tried again by itself. Do not claim either; a person has to look.`;
    case 'pending':
      return `${head} is now waiting for a person's approval elsewhere. Nothing ran yet. Do not call it again; if it is approved in time it runs by itself and its result follows.`;
    case 'approved':
    case 'executing':
      return `${head} was approved and is about to run. Do not call it again; its result follows.`;
    default:
      return record.status satisfies never;
  }
}
