/**
 * What the model reads where a tool has nothing to say.
 *
 * @module
 */

/** Outputs that are ours and not the tool's; the model reads them. */
export const TOOL_TEXT = {
  malformed:
    'Error: the arguments are not a JSON object. The tool was not run. Call it again with named arguments.',
  oversized: 'Error: the arguments are too long. The tool was not run.',
  underWay:
    'This is still running: the same call was made before and has not ended. It was not made again; its result comes by itself.',
  tooMany: 'Error: too many tool calls at once. This one was not run.',
  rounds:
    'Error: too many tool calls in a row without the caller. This one was not run. Speak to the caller now.',
  timeout:
    'Error: the tool did not answer in time. It may still finish; do not assume that it did, and do not call it again by yourself.',
  interrupted:
    'Cancelled: the caller interrupted, and the tool was stopped. Nothing of it is known to have happened.',
} as const;
