/**
 * RTCP (RFC 3550, section 6): what is read of the peer's reports, and ours.
 *
 * @module
 */

const SENDER_REPORT = 200;
const RECEIVER_REPORT = 201;
const SOURCE_DESCRIPTION = 202;
const BYE = 203;
/** Seconds from 1900, where NTP time begins, to 1970. */
const NTP_EPOCH_S = 2_208_988_800;

/** What one side says about how it receives a source. */
export interface ReportBlock {
  readonly ssrc: number;
  /** Of the packets since its last report, lost: 0 to 1. */
  readonly fractionLost: number;
  readonly lost: number;
  /** Highest sequence number, with the count of its cycles above it. */
  readonly highest: number;
  /** Mean deviation of the arrival times, in units of the RTP clock. */
  readonly jitter: number;
  /** The middle 32 bits of the NTP time in our last sender report; 0 when none came. */
  readonly lastReport: number;
  /** Since it came, in 1/65536 s. */
  readonly sinceLastReport: number;
}

export interface RtcpReport {
  /** Of the peer's sender report, where there was one: its middle 32 bits of NTP time. */
  senderTime: { readonly ssrc: number; readonly middle: number } | null;
  readonly blocks: ReportBlock[];
  /** Sources that are no more. */
  readonly bye: number[];
}

/** Reads a compound packet; what is not understood of it is stepped over. `null` when it is none. */
export function parseRtcp(packet: Uint8Array): RtcpReport | null {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  const report: RtcpReport = { senderTime: null, blocks: [], bye: [] };
  let at = 0;
  while (at + 4 <= packet.byteLength) {
    const first = view.getUint8(at);
    const type = view.getUint8(at + 1);
    const end = at + 4 + view.getUint16(at + 2) * 4;
    if (first >> 6 !== 2 || end > packet.byteLength) return null;
    const count = first & 0x1f;
    if (type === SENDER_REPORT && end - at >= 28) {
      report.senderTime = { ssrc: view.getUint32(at + 4), middle: view.getUint32(at + 10) };
      readBlocks(view, at + 28, end, count, report.blocks);
    } else if (type === RECEIVER_REPORT) {
      readBlocks(view, at + 8, end, count, report.blocks);
    } else if (type === BYE) {
      for (let n = 0; n < count && at + 8 + n * 4 <= end; n += 1)
        report.bye.push(view.getUint32(at + 4 + n * 4));
    }
    at = end;
  }
  return at === packet.byteLength && at > 0 ? report : null;
}

function readBlocks(view: DataView, from: number, end: number, count: number, blocks: ReportBlock[]): void {
  for (let n = 0, at = from; n < count && at + 24 <= end; n += 1, at += 24) {
    blocks.push({
      ssrc: view.getUint32(at),
      fractionLost: view.getUint8(at + 4) / 256,
      lost: (view.getInt32(at + 4) << 8) >> 8,
      highest: view.getUint32(at + 8),
      jitter: view.getUint32(at + 12),
      lastReport: view.getUint32(at + 16),
      sinceLastReport: view.getUint32(at + 20),
    });
  }
}

/** What was sent so far, for a sender report. */
export interface SenderInfo {
  readonly rtpTimestamp: number;
  readonly packets: number;
  readonly bytes: number;
}

/**
 * Our report: as a sender once something was sent, and about the peer's source where there is one.
 *
 * @param wallNow - ms since 1970
 * @param cname - the source's lasting name, printable ASCII, at most 255 characters
 */
export function writeReport(options: {
  ssrc: number;
  cname: string;
  wallNow: number;
  sent: SenderInfo | null;
  block: ReportBlock | null;
}): Buffer {
  const { ssrc, cname, wallNow, sent, block } = options;
  const reportBytes = (sent ? 28 : 8) + (block ? 24 : 0);
  // One chunk of one item, ended by at least one zero and filled up to whole words.
  const chunkBytes = Math.ceil((4 + 2 + cname.length + 1) / 4) * 4;
  const bytes = Buffer.alloc(reportBytes + 4 + chunkBytes);
  bytes[0] = 0x80 | (block ? 1 : 0);
  bytes[1] = sent ? SENDER_REPORT : RECEIVER_REPORT;
  bytes.writeUInt16BE(reportBytes / 4 - 1, 2);
  bytes.writeUInt32BE(ssrc, 4);
  if (sent) {
    const seconds = Math.floor(wallNow / 1000);
    bytes.writeUInt32BE((seconds + NTP_EPOCH_S) % 2 ** 32, 8);
    bytes.writeUInt32BE(Math.floor((wallNow / 1000 - seconds) * 2 ** 32), 12);
    bytes.writeUInt32BE(sent.rtpTimestamp, 16);
    bytes.writeUInt32BE(sent.packets % 2 ** 32, 20);
    bytes.writeUInt32BE(sent.bytes % 2 ** 32, 24);
  }
  if (block) {
    const at = sent ? 28 : 8;
    bytes.writeUInt32BE(block.ssrc, at);
    bytes.writeInt32BE(Math.max(-0x800000, Math.min(0x7fffff, block.lost)), at + 4);
    bytes[at + 4] = Math.min(255, Math.floor(block.fractionLost * 256));
    bytes.writeUInt32BE(block.highest % 2 ** 32, at + 8);
    bytes.writeUInt32BE(Math.min(block.jitter, 2 ** 32 - 1), at + 12);
    bytes.writeUInt32BE(block.lastReport, at + 16);
    bytes.writeUInt32BE(block.sinceLastReport, at + 20);
  }
  bytes[reportBytes] = 0x81;
  bytes[reportBytes + 1] = SOURCE_DESCRIPTION;
  bytes.writeUInt16BE(chunkBytes / 4, reportBytes + 2);
  bytes.writeUInt32BE(ssrc, reportBytes + 4);
  bytes[reportBytes + 8] = 1;
  bytes[reportBytes + 9] = cname.length;
  bytes.write(cname, reportBytes + 10, 'latin1');
  return bytes;
}

/** The middle 32 bits of a time's NTP form, in 1/65536 s. */
export function ntpMiddle(wallNow: number): number {
  return Math.floor(((wallNow / 1000 + NTP_EPOCH_S) % 65_536) * 65_536);
}

/** Round trip to whoever wrote the block, in ms; `null` when it has had no report of ours yet. */
export function roundTripMs({ lastReport, sinceLastReport }: ReportBlock, wallNow: number): number | null {
  if (lastReport === 0) return null;
  const ticks = (ntpMiddle(wallNow) - lastReport - sinceLastReport) >> 0;
  // A step of the wall clock makes nonsense of one report, and is not believed.
  return ticks < 0 || ticks > 10 * 65_536 ? null : (ticks / 65_536) * 1000;
}
