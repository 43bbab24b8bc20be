/**
 * What stands between the callers and the model, each in a process of its own.
 *
 * @module
 */

import type { ChildProcess } from 'node:child_process';
import { startGateway } from '../gateway.ts';
import { next, start, stop } from '../lib/child.ts';
import { startPipecat } from '../pipecat/contestant.ts';
import type { DialTarget } from './carriers.ts';

export interface RunningContestant {
  readonly child: ChildProcess;
  readonly target: DialTarget;
  stop(): Promise<void>;
}

export interface Contestant {
  readonly id: 'bare' | 'agents' | 'ours' | 'pipecat';
  readonly name: string;
  /** @param execArgv - further options of Node, e.g. for a profile */
  start(modelUrl: string, execArgv?: readonly string[]): Promise<RunningContestant>;
}

const AUTH_TOKEN = 'bench-token';

/** Everything that a call in production has: the gate, metrics, transcripts and the call's rows in the store. */
export const OURS_CONFIG = {
  carriers: { twilio: {} },
  greeting: '',
  server: { port: 0, metricsPort: 0 },
  limits: { maxCalls: 2000, silenceTimeoutS: 3600 },
  approvals: { toolGate: { requireApproval: ['write_file', 'edit_file'], unsafe: true } },
};

export const OURS_ENV = { TWILIO_AUTH_TOKEN: AUTH_TOKEN, OPENAI_API_KEY: 'bench' };

function program(id: Contestant['id'], name: string, path: string): Contestant {
  return {
    id,
    name,
    async start(modelUrl, execArgv = []) {
      const child = start(path, { args: [modelUrl], execArgv });
      const stream = await next(child, (message) => (message as { ready?: string }).ready);
      return { child, target: { stream }, stop: () => stop(child) };
    },
  };
}

export const bare = program('bare', 'bare relay on ws', 'bench/relay/bare.ts');
export const agents = program('agents', '@openai/agents Twilio transport', 'bench/relay/agents-sdk.ts');

export const ours: Contestant = {
  id: 'ours',
  name: 'nanobot-channel-realtime',
  async start(modelUrl, execArgv = []) {
    const {
      child,
      url,
      stop: end,
    } = await startGateway(
      { ...OURS_CONFIG, model: { provider: 'openai', baseUrl: modelUrl } },
      { env: OURS_ENV, execArgv, probed: true },
    );
    return { child, target: { webhook: `${url}/twilio/voice`, authToken: AUTH_TOKEN }, stop: end };
  },
};

/** It resamples: only `pipecat/phone.ts` can measure it. */
export const pipecat = (python: string): Contestant => ({
  id: 'pipecat',
  name: 'Pipecat, OpenAI realtime',
  async start(modelUrl) {
    const { child, address, stop: end } = await startPipecat(python, modelUrl);
    return { child, target: { stream: `ws://${address}/ws` }, stop: end };
  },
});
