/** MIME type of an image by its first bytes; `null` for anything but PNG, JPEG, GIF and WebP. */
export function imageType(bytes: Uint8Array): string | null {
  const starts = (text: string, at = 0) =>
    [...text].every((char, index) => bytes[at + index] === char.charCodeAt(0));
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (starts('\xff\xd8\xff')) return 'image/jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif';
  return starts('RIFF') && starts('WEBP', 8) ? 'image/webp' : null;
}

/** An image as content blocks, as `read_file` and `web_fetch` return it. */
export function imageBlocks(bytes: Uint8Array, mime: string, label: string) {
  const url = `data:${mime};base64,${Buffer.from(bytes).toString('base64')}`;
  return [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: label },
  ] as const;
}
