/**
 * What a call from a web page costs, and by how much it is delayed here: CPU per call, packet in → model's frame out,
 * model's frame in → packet out, at 1, 20 and 50 calls; then each part alone.
 *
 *   node --disable-warning=ExperimentalWarning bench/webrtc.ts [seconds] [calls...]
 */

import { fork } from 'node:child_process';
import { loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { OpusDecoder, OpusEncoder, samplesToPcm16 } from '../src/audio/index.ts';
import { realClock } from '../src/clock.ts';
import { webrtcSchema } from '../src/config-webrtc.ts';
import { openWebRtcPeers } from '../src/leg/webrtc/index.ts';
import { AudioReceiver } from '../src/leg/webrtc/receiver.ts';
import { writeRtp } from '../src/leg/webrtc/rtp.ts';
import { speech } from '../test/leg/webrtc/speech.ts';
import { type Distribution, distributionOf } from './lib/histogram.ts';
import type { BenchCommand, BenchReply } from './webrtc-callers.ts';

export interface WebRtcRun {
  readonly calls: number;
  /** Share of one core that a call takes, over all threads of this process. */
  readonly cpuPerCall: number;
  /** Packet in → model's frame out. */
  readonly in: Distribution;
  /** Model's first frame in → packet out. */
  readonly out: Distribution;
  readonly loopDelayP99Ms: number;
  readonly missing: number;
  readonly load: number;
}

export interface WebRtcResult {
  readonly complexity: number;
  readonly seconds: number;
  readonly parts: readonly { readonly name: string; readonly us: number }[];
  readonly runs: readonly WebRtcRun[];
}

/** Of each second of a call the agent speaks so many frames. */
const BURST_FRAMES = 20;
const COMPLEXITY = 5;

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
const voice = await speech(10);
const FRAMES = Array.from({ length: 500 }, (_, n) => samplesToPcm16(voice.slice(n * 480, (n + 1) * 480)));

async function measure(count: number, seconds: number): Promise<WebRtcRun> {
  const load = loadavg()[0] ?? 0;
  const child = fork(fileURLToPath(new URL('./webrtc-callers.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const ask = <Type extends BenchReply['type']>(command: BenchCommand, type: Type) =>
    new Promise<Extract<BenchReply, { type: Type }>>((resolve, reject) => {
      child.once('exit', () => reject(new Error('The callers are gone.')));
      child.once('message', (reply: BenchReply) => {
        child.removeAllListeners('exit');
        if (reply.type === type) resolve(reply as Extract<BenchReply, { type: Type }>);
      });
      child.send(command);
    });
  const config = webrtcSchema.parse({ bindAddress: '127.0.0.1', complexity: COMPLEXITY });
  const peers = await openWebRtcPeers({ config, clock: realClock });
  const { offers } = await ask({ type: 'open', count }, 'opened');
  const answers = await Promise.all(offers.map((offer) => peers.answer(offer)));
  await Promise.all([
    ask({ type: 'accept', answers: answers.map(({ sdp }) => sdp) }, 'accepted'),
    ...answers.map(({ connected }) => connected),
  ]);
  const legs = answers.map(({ leg }) => leg);
  const heard: number[][] = legs.map(() => []);
  for (const [n, leg] of legs.entries()) leg.on('audio', () => heard[n]?.push(monotonic()));

  const spoke: number[][] = legs.map(() => []);
  const startedAt = monotonic();
  const speak = setInterval(() => {
    const elapsed = monotonic() - startedAt;
    for (const [n, leg] of legs.entries()) {
      const times = spoke[n] ?? [];
      // At any time two in five agents speak.
      if (times.length * 1000 + 300 + (n * 1000) / count > elapsed || elapsed > seconds * 1000 - 600)
        continue;
      times.push(monotonic());
      for (let k = 0; k < BURST_FRAMES; k += 1)
        leg.send('item', FRAMES[(times.length * 20 + k) % 500] ?? new Uint8Array(960));
    }
  }, 1);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const before = process.cpuUsage();
  const talked = await ask({ type: 'talk', ms: seconds * 1000 }, 'talked');
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  clearInterval(speak);

  const inward: number[] = [];
  let lost = 0;
  for (const [n, times] of talked.sent.entries()) {
    lost += legs[n]?.received.missing ?? 0;
    // With nothing missing or late the k-th frame is the k-th packet's, and what the clock filled in comes after the last
    // one; the first second is warm-up.
    if ((legs[n]?.received.missing ?? 1) + (legs[n]?.received.late ?? 1) === 0)
      for (let k = 50; k < times.length; k += 1) inward.push((heard[n]?.[k] ?? 0) - (times[k] ?? 0));
  }
  const outward: number[] = [];
  for (const [n, times] of spoke.entries())
    for (const at of times.slice(1)) {
      const arrived = talked.began[n]?.find((each) => each >= at);
      if (arrived !== undefined && arrived - at < 500) outward.push(arrived - at);
    }
  const cores = (user + system) / 1000 / (seconds * 1000 + 500);
  await peers.close();
  child.kill();
  return {
    calls: count,
    cpuPerCall: cores / count,
    in: distributionOf(inward),
    out: distributionOf(outward),
    loopDelayP99Ms: Math.max(0, (delay.percentile(99) - 5e6) / 1e6),
    missing: lost,
    load,
  };
}

function line({ calls, cpuPerCall, in: inward, out, loopDelayP99Ms, missing }: WebRtcRun): string {
  const ms = ({ n, p50Ms, p99Ms }: Distribution) =>
    `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms?.toFixed(1) ?? '-'} ms (n=${n})`;
  return [
    `${calls} calls`,
    `${(cpuPerCall * 100).toFixed(2)} % of a core per call (${(cpuPerCall * calls * 100).toFixed(0)} % in all)`,
    `in ${ms(inward)}`,
    `out ${ms(out)}`,
    `event loop p99 ${loopDelayP99Ms.toFixed(1)} ms`,
    `missing ${missing}`,
  ].join(' · ');
}

function parts(): { name: string; us: number }[] {
  const found: { name: string; us: number }[] = [];
  const time = (name: string, rounds: number, what: (n: number) => void) => {
    for (let n = 0; n < 300; n += 1) what(n);
    const from = process.cpuUsage();
    for (let n = 0; n < rounds; n += 1) what(n);
    const { user, system } = process.cpuUsage(from);
    found.push({ name, us: Math.round(((user + system) / rounds) * 10) / 10 });
  };
  const samples = FRAMES.map((frame) => new Int16Array(frame.buffer, frame.byteOffset, 480));
  const frame = (n: number) => samples[n % 500] ?? new Int16Array(480);
  const encoders = [
    {
      loss: 0,
      encoder: new OpusEncoder({
        sampleRate: 24_000,
        complexity: COMPLEXITY,
        fec: true,
        expectedLossPercent: 0,
      }),
    },
    {
      loss: 10,
      encoder: new OpusEncoder({
        sampleRate: 24_000,
        bitrate: 32_000,
        complexity: COMPLEXITY,
        fec: true,
        expectedLossPercent: 10,
      }),
    },
  ];
  for (const { loss, encoder } of encoders)
    time(
      `encode 20 ms, complexity ${COMPLEXITY}, FEC on, ${loss} % loss reported`,
      3000,
      (n) => void encoder.encode(frame(n)),
    );
  const packets = samples.map((each) => encoders[1]?.encoder.encode(each) ?? new Uint8Array());
  const packet = (n: number) => packets[n % 500] ?? new Uint8Array();
  const decoder = new OpusDecoder(24_000);
  time('decode 20 ms', 5000, (n) => void decoder.decode(packet(n)));
  time('conceal 20 ms', 3000, () => void decoder.conceal(20));
  const receiver = new AudioReceiver({ payloadType: 111, sampleRate: 24_000, onAudio: () => {} });
  const rtp = (n: number) =>
    writeRtp({
      payloadType: 111,
      marker: false,
      sequence: n & 0xffff,
      timestamp: n * 960,
      ssrc: 1,
      payload: packet(n),
    });
  let count = 0;
  time('RTP, jitter buffer and decode of one packet', 5000, () => {
    receiver.receive(rtp(count), count * 20);
    count += 1;
  });
  time('writing an RTP packet', 20_000, (n) => void rtp(n));
  receiver.close();
  return found;
}

export async function webrtc(
  seconds: number,
  counts: readonly number[],
  log = console.log,
): Promise<WebRtcResult> {
  const found = parts();
  for (const { name, us } of found) log(`${name}: ${us} µs`);
  const runs: WebRtcRun[] = [];
  for (const count of counts) {
    const run = await measure(count, seconds);
    log(line(run));
    runs.push(run);
  }
  return { complexity: COMPLEXITY, seconds, parts: found, runs };
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  const [seconds = 20, ...counts] = args.filter((each) => /^\d/.test(each)).map(Number);
  const isJson = args.includes('--json');
  const result = await webrtc(
    seconds,
    counts.length > 0 ? counts : [1, 20, 50],
    isJson ? () => {} : console.log,
  );
  if (isJson) console.log(JSON.stringify(result));
  process.exit();
}
