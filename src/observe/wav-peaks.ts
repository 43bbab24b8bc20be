/**
 * How loud a recording is, column by column, for a picture of it.
 *
 * Runs in browsers too.
 *
 * @module
 */

const HEADER_BYTES = 44;
const FRAME_BYTES = 4;

/** Lowest and highest sample of each column, -1 to 1. */
export interface Peaks {
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** @param wav - `call.wav`: 16-bit PCM, caller left, agent right, a header of 44 bytes */
export function wavPeaks(wav: Uint8Array, channel: 0 | 1, columns: number): Peaks {
  const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength);
  const frames = Math.max(0, Math.floor((wav.byteLength - HEADER_BYTES) / FRAME_BYTES));
  const perColumn = Math.max(1, Math.floor(frames / columns));
  const low = new Float32Array(columns);
  const high = new Float32Array(columns);
  for (let column = 0; column < columns; column++) {
    const end = Math.min(frames, (column + 1) * perColumn);
    for (let frame = column * perColumn; frame < end; frame++) {
      const sample = view.getInt16(HEADER_BYTES + frame * FRAME_BYTES + channel * 2, true) / 32768;
      if (sample < (low[column] ?? 0)) low[column] = sample;
      if (sample > (high[column] ?? 0)) high[column] = sample;
    }
  }
  return { low, high };
}

/** @param rate - samples per second of the recording */
export function wavDurationMs(wav: Uint8Array, rate: number): number {
  return ((wav.byteLength - HEADER_BYTES) / FRAME_BYTES / rate) * 1000;
}
