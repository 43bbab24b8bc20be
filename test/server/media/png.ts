import { inflateSync } from 'node:zlib';

/** Reads the pixels of an 8-bit RGB or RGBA picture, as a browser's screenshot is. */
export function decodePng(png: Buffer): {
  readonly width: number;
  readonly height: number;
  pixel(x: number, y: number): [number, number, number];
} {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? (pixels[y * stride + x - channels] as number) : 0;
      const up = y > 0 ? (pixels[(y - 1) * stride + x] as number) : 0;
      const corner = x >= channels && y > 0 ? (pixels[(y - 1) * stride + x - channels] as number) : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter as number] as number;
      pixels[y * stride + x] = ((raw[y * (stride + 1) + 1 + x] as number) + predicted) & 255;
    }
  }
  return {
    width,
    height,
    pixel(x, y) {
      const at = y * stride + x * channels;
      return [pixels[at] as number, pixels[at + 1] as number, pixels[at + 2] as number];
    },
  };
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [dl, du, dc] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (dl <= du && dl <= dc) return left;
  return du <= dc ? up : corner;
}
