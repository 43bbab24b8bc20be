/**
 * Tools of the call itself, beside the host's. They act on the line, not on the world, so they do not go through
 * the gateway.
 *
 * @module
 */

import type { ToolDefinition } from '../gateway/index.ts';

export const END_CALL = 'end_call';

export const END_CALL_DEFINITION: ToolDefinition = {
  type: 'function',
  function: {
    name: END_CALL,
    description:
      'End this phone call. Use it when the caller says goodbye or asks to hang up. The line drops after your goodbye was heard.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  },
};

/** What the model is told; the first when it has yet to say goodbye. */
export const END_CALL_OUTPUT = {
  sayGoodbye: 'The call ends after your goodbye. Say it now, in one short sentence.',
  ending: 'The call ends when what you said was heard. Say nothing more.',
} as const;
