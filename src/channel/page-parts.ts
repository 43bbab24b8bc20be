/**
 * What the server's pages need of a channel: WebRTC, the records of calls, and what is configured, in plain words.
 *
 * @module
 */

import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { isVoiceError } from '../errors.ts';
import { openWebRtcPeers, type WebRtcPeers } from '../leg/webrtc/index.ts';
import type { Logger } from '../observe/index.ts';
import { CallRecords, type ConfiguredPart } from '../server/index.ts';
import { hexOfSlot, type WorkerSlot } from '../worker-slot.ts';

/** `null` where the media stack can't be loaded: pages have the WebSocket then. */
export async function openPeers(
  config: RealtimeConfig,
  clock: Clock,
  logger: Logger,
  slot: Pick<WorkerSlot, 'index' | 'of'> | null = null,
): Promise<WebRtcPeers | null> {
  try {
    if (!slot) return await openWebRtcPeers({ config: config.webrtc, clock });
    const portRange = shareOfPorts(config.webrtc.portRange, slot);
    return await openWebRtcPeers({
      config: { ...config.webrtc, portRange },
      clock,
      idPrefix: hexOfSlot(slot.index),
    });
  } catch (error) {
    if (!isVoiceError(error, 'WEBRTC_UNAVAILABLE')) throw error;
    logger.warn({ code: error.code }, 'pages call by WebSocket only');
    return null;
  }
}

/** Each worker's part of the ports: two processes can't have one. */
export function shareOfPorts(
  { min, max }: RealtimeConfig['webrtc']['portRange'],
  { index, of }: Pick<WorkerSlot, 'index' | 'of'>,
): RealtimeConfig['webrtc']['portRange'] {
  if (min === undefined || max === undefined) return {};
  const ports = max - min + 1;
  const from = min + Math.floor((ports * index) / of);
  return { min: from, max: min + Math.floor((ports * (index + 1)) / of) - 1 };
}

export async function openCallRecords(
  config: RealtimeConfig,
  dataDirectory: string,
  clock: Clock,
  logger: Logger,
  isShared = false,
): Promise<CallRecords> {
  const directory = join(dataDirectory, 'calls');
  const records = new CallRecords({ directory, config: config.page.records, clock, logger, isShared });
  await records.open();
  return records;
}

export interface ConfiguredFacts {
  readonly config: RealtimeConfig;
  readonly model: string;
  /** Tools that the agent has; `null` without a host. */
  readonly tools: number | null;
  readonly twilio: 'ready' | 'no_key' | 'unverified';
  readonly hasWebRtc: boolean;
  readonly hasMedia: boolean;
}

/** No secret, no number, no path of this machine. */
export function configuredParts(facts: ConfiguredFacts): ConfiguredPart[] {
  const { config, model, tools, twilio, hasWebRtc, hasMedia } = facts;
  const { webrtc, server, recording, page, approvals, store, limits } = config;
  const on = (isOn: boolean, text: string, otherwise: string) =>
    isOn ? ({ state: 'ok', text } as const) : ({ state: 'off', text: otherwise } as const);
  const turn = webrtc.turn.urls.length;
  const parts: readonly (readonly [name: string, part: Omit<ConfiguredPart, 'name'>])[] = [
    ['model', { state: 'ok', text: model }],
    ['agent', on(tools !== null, `${tools ?? 0} tools`, 'no host: calls have no tools')],
    ['store', { state: 'ok', text: store.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL' }],
    [
      'webrtc',
      hasWebRtc
        ? { state: 'ok', text: webrtc.relayOnly ? 'TURN only' : 'pages call by UDP' }
        : { state: 'failed', text: 'the media stack can’t be loaded: pages call by WebSocket' },
    ],
    ['turn', on(turn > 0, `${turn} TURN ${turn === 1 ? 'server' : 'servers'}`, 'no TURN server')],
    [
      'https',
      on(
        server.tls.cert !== undefined || server.publicUrl?.startsWith('https:') === true,
        server.tls.cert === undefined ? 'in front of us' : 'our own certificate',
        'plain HTTP: microphones work on this machine only',
      ),
    ],
    [
      'twilio',
      twilio === 'unverified'
        ? { state: 'failed', text: 'unsigned webhooks are believed (unsafeSkipSignature)' }
        : on(twilio === 'ready', 'webhooks are verified', 'no auth token'),
    ],
    [
      'approvals',
      on(isGateOn(approvals.toolGate), 'designated tools wait for a person', 'no tool waits for a person'),
    ],
    ['media', on(hasMedia, 'calls can send pictures and files', 'no media tool is authorized')],
    ['recording', on(recording.enabled, 'every call is recorded', 'no audio is kept')],
    [
      'records',
      on(page.records.enabled, `kept for ${page.records.keepDays} days`, 'no records of calls are kept'),
    ],
    ['lines', { state: 'ok', text: `${limits.maxCalls} calls at once` }],
  ];
  return parts.map(([name, part]) => ({ name, ...part }));
}
