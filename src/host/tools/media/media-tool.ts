/**
 * The contract of a media tool. A host's own is a name, a schema and a function that makes bytes; everything else (who
 * may use it, what is kept, where it goes, what the model is told) is done here and in `media/`.
 *
 * @module
 *
 * @example
 * ```ts
 * registry.register(
 *   mediaTool(media, {
 *     name: 'send_map',
 *     description: 'Send the caller a map of a place.',
 *     parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
 *     async make({ place }) {
 *       const bytes = await drawMap(String(place));
 *       return { bytes, name: 'map.png', caption: `Map of ${place}`, fallback: `I have a map of ${place} for you.` };
 *     },
 *   }),
 * );
 * ```
 */

import { currentRequestContext, type JsonSchema } from '../../../gateway/index.ts';
import type { MadeMedia, Media } from '../../../media/index.ts';
import {
  type Tool,
  type ToolArguments,
  type ToolCallOptions,
  toolError,
  toolText,
} from '../../registry-tool.ts';

export interface MediaToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of type `object`. */
  readonly parameters: JsonSchema;
  /** Makes what is sent. What it throws is not shown to the model. */
  make(args: ToolArguments, options: ToolCallOptions): Promise<MadeMedia>;
}

/** Everything that a model learns of a failure, whatever it was. */
export const MEDIA_FAILED =
  'Error: Nothing was sent. It can not be sent on this call; say so, and do not try again.';

const QUEUED = {
  status: 'queued',
  message: 'It is on its way, and has not arrived yet.',
} as const;

/** A tool for the registry, and known to `media` from now on; whether a session has it, its authorization says. */
export function mediaTool(media: Media, definition: MediaToolDefinition): Tool {
  const { name, description, parameters } = definition;
  media.addTool(name);
  return {
    name,
    description,
    parameters,
    async execute(args, options) {
      const request = currentRequestContext();
      if (!request?.call) return toolError(MEDIA_FAILED);
      const context = { ...request.call, sessionKey: request.sessionKey };
      try {
        const queued = media.run(name, context, options.signal, () => definition.make(args, options));
        await media.clock.track(queued);
        return toolText(JSON.stringify(QUEUED));
      } catch {
        return toolError(MEDIA_FAILED);
      }
    },
  };
}
