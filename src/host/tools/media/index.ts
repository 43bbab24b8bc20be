import type { Media } from '../../../media/index.ts';
import type { WorkspacePolicy } from '../../guards/index.ts';
import type { Tool } from '../../registry-tool.ts';
import { mediaTool } from './media-tool.ts';
import { sendChart } from './send-chart.ts';
import { sendFile } from './send-file.ts';
import { sendTestImage } from './send-test-image.ts';

export { MEDIA_FAILED, type MediaToolDefinition, mediaTool } from './media-tool.ts';
export { SEND_FILE } from './send-file.ts';

/** The media tools that the operator has listed; the others are not made at all. */
export function createMediaTools(
  media: Media,
  { policy, listed }: { readonly policy: WorkspacePolicy; readonly listed: readonly string[] },
): Tool[] {
  return [sendTestImage(), sendFile(policy), sendChart()]
    .filter(({ name }) => listed.includes(name))
    .map((definition) => mediaTool(media, definition));
}
