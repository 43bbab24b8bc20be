/**
 * Speech both ways through networks of bad manners, in real time: what was lost, filled and late, and how it sounds.
 *
 *   node --disable-warning=ExperimentalWarning bench/webrtc-network.ts [seconds]
 */

import { badManners, runNetwork, type Way } from '../test/leg/webrtc/bad-network.ts';
import type { Manners } from '../test/leg/webrtc/udp-relay.ts';

const seconds = Number(process.argv[2] ?? 30);

/** Nothing gets through for 3 s in the middle. */
function outage(inner: Manners): Manners {
  const startedAt = performance.now();
  const from = 3000 + seconds * 400;
  return (datagram) => {
    const at = performance.now() - startedAt;
    return at > from && at < from + 3000 ? [] : inner(datagram);
  };
}

const NETWORKS: [string, number, number, boolean][] = [
  ['none', 0, 0, false],
  ['loss 5 %', 0.05, 0, false],
  ['loss 5 %, delay 0 to 60 ms, reordered', 0.05, 60, false],
  ['the same, and an outage of 3 s', 0.05, 60, true],
];

function row(name: string, way: string, { counters, waitMs, listening }: Way): void {
  const { received, missing, late, recoveredMs, concealedMs } = counters;
  const share = (100 * missing) / Math.max(1, received + missing);
  console.log(
    [
      name,
      way,
      `missing ${missing} (${share.toFixed(1)} %)`,
      `late ${late}`,
      `from copies ${recoveredMs.toFixed(0)} ms`,
      `made up ${concealedMs.toFixed(0)} ms`,
      `wait ${waitMs.toFixed(0)} ms`,
      `envelope ${listening.envelopeCorrelation.toFixed(3)}`,
      `within 3 dB ${(listening.intactShare * 100).toFixed(1)} %`,
      `SNR ${listening.segmentalSnrDb.toFixed(1)} dB`,
      `gaps ${listening.gapsMs.length === 0 ? 'none' : listening.gapsMs.join(', ')}`,
    ].join(' | '),
  );
}

for (const [name, loss, jitterMs, hasOutage] of NETWORKS) {
  const run = await runNetwork(seconds, (count) => {
    const manners = badManners(loss, jitterMs, 7, count);
    return hasOutage ? outage(manners) : manners;
  });
  row(name, 'in', run.in);
  row(name, 'out', run.out);
}
process.exit(0);
