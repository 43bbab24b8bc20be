/**
 * Tools of the call itself, beside the host's. They act on the line or hand a request to the host's text agent, so
 * they do not go through the gateway.
 *
 * @module
 */

import { z } from 'zod';
import type { RealtimeConfig } from '../config.ts';
import type { ToolDefinition } from '../gateway/index.ts';
import type { LegCapabilities } from '../leg/index.ts';

export const END_CALL = 'end_call';
export const STOP_WORKING = 'stop_working';
export const TRANSFER_CALL = 'transfer_call';
export const SEND_DTMF = 'send_dtmf';
export const ASK_AGENT = 'ask_agent';

/** Keys that one `send_dtmf` presses. */
export const MAX_SENT_DIGITS = 32;
/** Characters of a request for the text agent, and of the context with it. */
export const MAX_REQUEST_CHARS = 8000;

export const dtmfArgs = z.object({
  digits: z.string().regex(new RegExp(`^[0-9A-D*#wW]{1,${MAX_SENT_DIGITS}}$`)),
});
export const transferArgs = z.object({ to: z.string() });
export const askArgs = z.object({
  request: z.string().trim().min(1).max(MAX_REQUEST_CHARS),
  context: z.string().trim().max(MAX_REQUEST_CHARS).optional(),
});

/** What the model is told. */
export const VOICE_TOOL_TEXT = {
  /** `end_call`, when a goodbye is yet to be said. */
  sayGoodbye: 'The call ends after your goodbye. Say it now, in one short sentence.',
  /** `end_call`, when it was said. */
  ending: 'The call ends when what you said was heard. Say nothing more.',
  transferred: 'The call is being transferred. Say nothing more.',
  notTransferred:
    'Error: the transfer did not work, and the caller is still on the line. Tell them, and offer something else.',
  dtmfSent: 'The keys were sent.',
  dtmfFailed: 'Error: the keys could not be sent.',
  nothingToStop: 'Nothing is running.',
} as const;

export interface VoiceToolSetting {
  readonly leg: LegCapabilities;
  readonly config: RealtimeConfig;
  /** Whether the host's tools, or its agent, can be called at all. */
  readonly hasTools: boolean;
  readonly hasDelegate: boolean;
}

/** The call's own tools that work on this call. */
export function voiceToolDefinitions({
  leg,
  config,
  hasTools,
  hasDelegate,
}: VoiceToolSetting): ToolDefinition[] {
  return [
    ...(hasDelegate ? [ask()] : []),
    ...(hasTools || hasDelegate ? [stopWorking()] : []),
    ...(leg.transfer && config.transfers.length > 0
      ? [transfer(config.transfers.map((each) => each.name))]
      : []),
    ...(leg.dtmfOut ? [sendDtmf()] : []),
    endCall(),
  ];
}

/** The arguments as they may be kept: digits are not. */
export function keptArgs(name: string, args: string): string {
  return name === SEND_DTMF ? '{"digits":"(not kept)"}' : args;
}

function define(
  name: string,
  description: string,
  properties: Readonly<Record<string, unknown>> = {},
  required: readonly string[] = [],
): ToolDefinition {
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return { type: 'function', function: { name, description, parameters } };
}

const endCall = () =>
  define(
    END_CALL,
    'End this phone call. Use it when the caller says goodbye or asks to hang up. The line drops after your goodbye was heard.',
  );

const stopWorking = () =>
  define(
    STOP_WORKING,
    'Stop the tools that are still running. Use it when the caller asks to stop, or wants something else instead.',
  );

const transfer = (names: readonly string[]) =>
  define(
    TRANSFER_CALL,
    'Transfer this call to somebody else. Tell the caller first whom you connect them to. Your part of the call ends with it.',
    { to: { type: 'string', enum: names, description: 'Whom to connect the caller to.' } },
    ['to'],
  );

const sendDtmf = () =>
  define(
    SEND_DTMF,
    'Press keys on this phone line, such as in the menu of a phone system. `w` waits half a second.',
    { digits: { type: 'string', description: 'Keys: 0-9, *, #, A-D, w.' } },
    ['digits'],
  );

const ask = () =>
  define(
    ASK_AGENT,
    'Hand a whole request to the agent behind you, who has more tools, skills and memory and works in several steps. It takes a while; say that you are on it, and tell the caller the answer when it comes.',
    {
      request: {
        type: 'string',
        description: 'What is wanted, complete in itself, in the words of the caller.',
      },
      context: { type: 'string', description: 'What the agent has to know from this call, if anything.' },
    },
    ['request'],
  );
