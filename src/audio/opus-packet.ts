/**
 * What an Opus packet says about itself without being decoded (RFC 6716, section 3).
 *
 * @module
 */

/** Longest packet, in samples at 48 kHz (120 ms). */
const MAX_TICKS = 5760;
/** Samples at 48 kHz of one frame, for the 32 configurations: SILK, hybrid, CELT. */
const FRAME_TICKS = Array.from({ length: 32 }, (_, config) => {
  if (config < 12) return [480, 960, 1920, 2880][config % 4] ?? 0;
  if (config < 16) return config % 2 === 0 ? 480 : 960;
  return [120, 240, 480, 960][config % 4] ?? 0;
});

/** Length in samples at 48 kHz; 0 for what is no Opus packet. */
export function opusPacketTicks(packet: Uint8Array): number {
  const toc = packet[0];
  if (toc === undefined) return 0;
  const frame = FRAME_TICKS[toc >> 3] ?? 0;
  const code = toc & 3;
  const count = code === 0 ? 1 : code < 3 ? 2 : (packet[1] ?? 0) & 0x3f;
  const ticks = frame * count;
  return ticks <= MAX_TICKS ? ticks : 0;
}

/** Nothing but the first byte or two: the sender has stopped speaking and sends next to nothing (DTX). */
export function isOpusDtx(packet: Uint8Array): boolean {
  return packet.byteLength <= 2;
}

/** Whether it carries a coarse copy of the frame before it (the LBRR flag of SILK and hybrid frames, mono or stereo). */
export function opusCarriesFec(packet: Uint8Array): boolean {
  const toc = packet[0];
  if (toc === undefined || toc >> 3 >= 16 || isOpusDtx(packet)) return false;
  const start = firstFrame(packet);
  const first = start === null ? undefined : packet[start];
  if (first === undefined) return false;
  // The first bits of a frame are, for each channel, one voice flag for each 20 ms and then the LBRR flag.
  const frames = Math.max(1, (FRAME_TICKS[toc >> 3] ?? 960) / 960);
  const mid = (first >> (7 - frames)) & 1;
  const side = (toc & 4) === 0 ? 0 : (first >> (6 - 2 * frames)) & 1;
  return (mid | side) === 1;
}

/** Where the first frame's bytes begin. */
function firstFrame(packet: Uint8Array): number | null {
  const code = (packet[0] ?? 0) & 3;
  if (code < 2) return 1;
  const lengthBytes = (at: number) => ((packet[at] ?? 0) >= 252 ? 2 : 1);
  if (code === 2) return 1 + lengthBytes(1);
  const header = packet[1];
  if (header === undefined) return null;
  let at = 2;
  if (header & 0x40) {
    // Padding: each 255 says that one more length byte follows.
    while (packet[at] === 255) at += 1;
    at += 1;
  }
  if (header & 0x80) for (let frame = 1; frame < (header & 0x3f); frame += 1) at += lengthBytes(at);
  return at;
}
