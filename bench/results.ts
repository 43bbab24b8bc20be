/**
 * What `results.json` holds.
 *
 * @module
 */

import type { LongResult } from './long.ts';
import type { MemoryResult } from './memory.ts';
import type { MicroResult } from './micro.ts';
import type { PipecatResult } from './pipecat/index.ts';
import type { ReactionResult } from './reaction.ts';
import type { Contestant } from './relay/contestants.ts';
import type { RelayRun } from './relay/relay.ts';
import type { StartResult } from './start.ts';
import type { WebRtcResult } from './webrtc.ts';
import type { WorkersSummary } from './workers.ts';

export interface Results {
  readonly machine: { readonly cores: number; readonly memoryGiB: number; readonly node: string };
  /** Where each part's figures come from: parts can be measured one by one. */
  readonly runs: Partial<Record<Part, PartRun>>;
  relay?: readonly RelaySummary[];
  workers?: readonly WorkersSummary[];
  webrtc?: WebRtcResult;
  pipecat?: PipecatResult;
  memory?: MemoryResult;
  reaction?: readonly ReactionResult[];
  micro?: readonly MicroResult[];
  long?: LongResult;
  start?: StartResult;
}

export type Part = Exclude<keyof Results, 'machine' | 'runs'>;

export interface PartRun {
  readonly date: string;
  readonly command: string;
  /** `null`: not written down. */
  readonly tookS: number | null;
  /** Load average of a minute before it and after it: 1.5 and more before, on two cores, is a busy machine. */
  readonly load: readonly [number, number];
}

/** Medians of the runs of one contestant at one number of calls. */
export interface CallsSummary<Id, Run> {
  readonly contestant: Id;
  readonly name: string;
  readonly calls: number;
  readonly runs: readonly Run[];
  /** It did not take that many calls, or lost some. */
  readonly saturated: boolean;
  readonly cpuPerCall: number;
  readonly cpuSpread: readonly [number, number];
  readonly upMs: readonly [p50: number, p99: number, max: number];
  readonly downMs: readonly [p50: number, p99: number, max: number];
  readonly memoryKiB: number;
  readonly lost: number;
}

export interface RelaySummary extends CallsSummary<Contestant['id'], RelayRun> {
  /** Resident memory of the whole process. */
  readonly processMiB: number;
}
