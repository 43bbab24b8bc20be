/**
 * RTP packets (RFC 3550, section 5.1), read as the specification has it: contributing sources, header extension and
 * padding are stepped over by their lengths.
 *
 * @module
 */

export interface RtpPacket {
  readonly payloadType: number;
  readonly marker: boolean;
  readonly sequence: number;
  readonly timestamp: number;
  readonly ssrc: number;
  /** A view into the packet; empty for a packet that only keeps a NAT open. */
  readonly payload: Uint8Array;
}

const HEADER_BYTES = 12;

/** Whether a packet of a multiplexed stream is RTCP (RFC 5761, section 4). */
export function isRtcp(packet: Uint8Array): boolean {
  const second = packet[1] ?? 0;
  return second >= 192 && second <= 223;
}

/** `null` for what is no RTP packet. */
export function parseRtp(packet: Uint8Array): RtpPacket | null {
  if (packet.byteLength < HEADER_BYTES) return null;
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  const first = view.getUint8(0);
  if (first >> 6 !== 2) return null;
  let start = HEADER_BYTES + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (start + 4 > packet.byteLength) return null;
    start += 4 + view.getUint16(start + 2) * 4;
  }
  let end = packet.byteLength;
  if (first & 0x20) {
    const padding = view.getUint8(end - 1);
    if (padding === 0) return null;
    end -= padding;
  }
  if (start > end) return null;
  const second = view.getUint8(1);
  return {
    payloadType: second & 0x7f,
    marker: second >= 0x80,
    sequence: view.getUint16(2),
    timestamp: view.getUint32(4),
    ssrc: view.getUint32(8),
    payload: packet.subarray(start, end),
  };
}

/** A packet without extension, sources or padding. */
export function writeRtp(packet: RtpPacket): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + packet.payload.byteLength);
  bytes[0] = 0x80;
  bytes[1] = (packet.marker ? 0x80 : 0) | packet.payloadType;
  bytes.writeUInt16BE(packet.sequence, 2);
  bytes.writeUInt32BE(packet.timestamp, 4);
  bytes.writeUInt32BE(packet.ssrc, 8);
  bytes.set(packet.payload, HEADER_BYTES);
  return bytes;
}
