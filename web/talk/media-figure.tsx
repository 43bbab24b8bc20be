/**
 * A picture in the conversation, or a file to download; the gateway hears of it once it is on the screen.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { fileSize } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import type { ShownMedia } from './conversation.ts';

/** The same three types that the gateway serves in line. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp']);

export function MediaFigure(props: { media: ShownMedia; onShown: () => void; onSize: () => void }) {
  const { media, onShown, onSize } = props;
  const isBroken = useSignal(false);
  const isPicture = PICTURES.has(media.mime) && !isBroken.value;
  useEffect(() => {
    if (!PICTURES.has(media.mime)) onShown();
  }, [media.id]);
  return (
    <figure class="media">
      {isPicture ? (
        <a href={media.url} target="_blank" rel="noreferrer" class="media-picture">
          <img
            src={media.url}
            alt={media.caption || media.name}
            onLoad={() => {
              onSize();
              onShown();
            }}
            onError={() => (isBroken.value = true)}
          />
        </a>
      ) : (
        <a class="media-file" href={media.url} download={media.name}>
          <Icon name="file" size={26} />
          <span class="media-name">
            {media.name}
            <span class="dim">
              {fileSize(media.size)} · {media.mime}
            </span>
          </span>
          <Icon name="download" size={20} />
          <span class="visually-hidden">Download</span>
        </a>
      )}
      <figcaption>
        {media.caption}
        {isBroken.value && <span class="problem"> The picture could not be shown.</span>}
      </figcaption>
    </figure>
  );
}
