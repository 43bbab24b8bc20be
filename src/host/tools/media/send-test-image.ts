/**
 * `send_test_image`: a fixed picture, for trying whether pictures reach the caller.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { strictParameters } from '../arguments.ts';
import type { MediaToolDefinition } from './media-tool.ts';

const PICTURE = new URL('../../../../assets/media/test-image.png', import.meta.url);

export function sendTestImage(): MediaToolDefinition {
  return {
    name: 'send_test_image',
    description: 'Send the caller a test picture, to try whether pictures reach them.',
    parameters: strictParameters({}),
    make: async () => ({
      bytes: await readFile(PICTURE),
      name: 'test-picture.png',
      caption: 'Test picture',
      fallback: 'I have a test picture for you, but I can not show it on this line.',
    }),
  };
}
