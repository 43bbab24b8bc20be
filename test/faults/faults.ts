/**
 * The faults of docs/reference/faults.md, one entry for each row: how it is brought about, and what the caller hears of
 * it. What the record has to say and what has to be free afterwards is the same question for all of them.
 */

import { expect } from 'vitest';
import { createToolGatewayFacade } from '../../src/gateway/index.ts';
import { call, say, stall, type TurnHandler } from '../../src/testing/index.ts';
import { callerSays, errorEvent, heardMs, type Line, type LineOptions } from '../bugs/line.ts';
import { MemoryStore } from '../call/harness.ts';
import { JumpingClock } from './clocks.ts';

export interface Fault {
  /** As the first cell of its row has it. */
  readonly fault: string;
  readonly options?: LineOptions;
  /** Brings it about, lets it pass, and checks what the caller heard. */
  readonly strike: (line: Line) => Promise<void>;
  /** How the call ends by itself; left out, it goes on until the caller hangs up. */
  readonly ends?: string;
  /** Disk faults: no record can be read. */
  readonly withoutRecord?: true;
}

const ANSWER_MS = 1000;
/** What the double of our own voice takes for any text. */
const VERBATIM_MS = 400;
const LONG = 'An answer that takes a while.';

const longThenShort: TurnHandler = ({ index }) => [say(LONG, { durationMs: index === 0 ? 6000 : ANSWER_MS })];

/** The caller has asked something and hears the first second of the answer. */
async function midAnswer(line: Line): Promise<void> {
  await callerSays(line);
  await line.clock.drive(line.carrier.whenAgentSpeaks());
  await line.clock.advance(1000);
}

/** Whatever happened: the next question is answered. */
export async function isAnswered(line: Line): Promise<void> {
  const { carrier, clock } = line;
  const from = carrier.nowMs;
  await callerSays(line);
  await clock.advance(3000);
  expect(heardMs(carrier, from), 'the next question is answered').toBeGreaterThanOrEqual(ANSWER_MS - 20);
}

/** Longest silence on the line between two times, in ms. */
function longestGap(line: Line, fromMs: number, toMs: number): number {
  let at = fromMs;
  let gap = 0;
  for (const { startMs, endMs } of line.carrier.heardSegments()) {
    if (endMs <= fromMs || startMs >= toMs) continue;
    gap = Math.max(gap, startMs - at);
    at = Math.max(at, endMs);
  }
  return Math.max(gap, toMs - at);
}

const tool = (name: string, outcome: NonNullable<LineOptions['tools']>[string]): LineOptions => ({
  tools: { [name]: outcome },
  hears: ['do it'],
  turns: ({ heard, toolOutputs }) => {
    if (heard === 'do it') return [call(name)];
    return [say(toolOutputs[0]?.output ?? 'Yes?', { durationMs: ANSWER_MS })];
  },
  config: { limits: { toolTimeoutS: 8, fillerAfterMs: 1500 } },
});

const outputsOf = (line: Line): string[] =>
  line.fake.sessions.flatMap((session) =>
    session.received.flatMap((event) =>
      event.type === 'conversation.item.create' && event.item.type === 'function_call_output'
        ? [event.item.output]
        : [],
    ),
  );

class FullDisk extends MemoryStore {
  constructor() {
    super();
    this.isBroken = true;
  }
}

export const FAULTS: readonly Fault[] = [
  {
    fault: 'model: socket reset',
    options: { turns: longThenShort, model: { timing: { firstOutputMs: 100, speed: 1 } } },
    strike: async (line) => {
      const { carrier, clock, fake } = line;
      await midAnswer(line);
      fake.session.reset();
      const from = carrier.nowMs;
      await clock.advance(6000);
      // What had arrived is still played, then the new session goes on; no greeting, no question of ours.
      const gap = longestGap(line, from, from + 1900);
      expect(gap).toBeGreaterThan(0);
      expect(gap).toBeLessThanOrEqual(1000);
      expect(fake.sessions).toHaveLength(2);
      await isAnswered(line);
    },
  },
  {
    fault: 'model: unreachable after a reset',
    options: {
      turns: longThenShort,
      modelWire: (open) => {
        let opened = 0;
        return (request, sink) => {
          opened += 1;
          if (opened === 1) return open(request, sink);
          queueMicrotask(() => sink.failed(new Error('connection refused')));
          return { bufferedAmount: 0, send: () => {}, ping: () => {}, close: () => {}, terminate: () => {} };
        };
      },
    },
    ends: 'model_failed',
    strike: async (line) => {
      const { carrier, clock, fake } = line;
      await midAnswer(line);
      fake.session.reset();
      await clock.advance(20_000);
      const last = carrier.heardSegments(100).at(-1);
      expect((last?.endMs ?? 0) - (last?.startMs ?? 0)).toBeGreaterThanOrEqual(VERBATIM_MS - 20);
    },
  },
  {
    fault: 'model: a response stalls',
    options: { turns: ({ index }) => (index === 0 ? [stall()] : [say('Yes.', { durationMs: ANSWER_MS })]) },
    strike: async (line) => {
      const { carrier, clock } = line;
      await callerSays(line);
      await clock.advance(16_500);
      expect(heardMs(carrier)).toBeGreaterThanOrEqual(VERBATIM_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'model: the connection is dead',
    options: {
      turns: longThenShort,
      modelWire: (open) => {
        let opened = 0;
        return (request, sink) => {
          const isFirst = opened++ === 0;
          let isDead = false;
          const socket = open(request, {
            ...sink,
            alive: () => !isDead && sink.alive(),
            message: (data) => {
              // It dies with the first word of an answer.
              isDead ||= isFirst && String(data).includes('"response.output_audio.delta"');
              if (!isDead) sink.message(data);
            },
          });
          return {
            bufferedAmount: 0,
            send: (text) => !isDead && socket.send(text),
            ping: () => !isDead && socket.ping(),
            close: (code) => socket.close(code),
            terminate: () => socket.terminate(),
          };
        };
      },
    },
    strike: async (line) => {
      const { clock, fake } = line;
      await callerSays(line);
      await clock.advance(24_000);
      expect(fake.sessions).toHaveLength(2);
      await isAnswered(line);
    },
  },
  {
    fault: 'model: garbage',
    options: { turns: longThenShort },
    strike: async (line) => {
      const { carrier, clock, fake } = line;
      await midAnswer(line);
      const from = carrier.nowMs;
      const { session } = fake;
      session.injectText('{');
      session.injectText('null');
      session.injectText('[1,2]');
      session.injectText('{"type":"response.output_audio.delta","delta":5}');
      session.injectText('{"type":"response.done"}');
      session.injectText('{"type":"response.function_call_arguments.done","arguments":{}}');
      session.injectText('{"type":"something.new","x":1}');
      session.inject({ type: 'response.done', response: { id: 'resp_of_nobody' } } as { type: string });
      session.inject(errorEvent('who_knows') as { type: string });
      await clock.advance(4000);
      // Not a frame of the answer is missing.
      expect(longestGap(line, from, from + 3500)).toBeLessThanOrEqual(0);
      expect(fake.sessions).toHaveLength(1);
      await clock.advance(3000);
      await isAnswered(line);
    },
  },
  {
    fault: 'model: nothing but garbage',
    options: { turns: longThenShort },
    strike: async (line) => {
      const { clock, fake } = line;
      await midAnswer(line);
      for (let n = 0; n < 60; n += 1) fake.session.injectText('{"type":"response.done"}');
      await clock.advance(6000);
      expect(fake.sessions).toHaveLength(2);
      await isAnswered(line);
    },
  },
  {
    fault: 'carrier: reset',
    options: { turns: longThenShort, config: { limits: { reconnectGraceS: 0 } } },
    ends: 'connection_lost',
    strike: async (line) => {
      await midAnswer(line);
      line.carrier.reset();
      await line.clock.advance(1000);
    },
  },
  {
    fault: 'carrier: stops reading for 10 s',
    options: { turns: ({ index }) => [say(LONG, { durationMs: index === 0 ? 30_000 : ANSWER_MS })] },
    strike: async (line) => {
      const { carrier, clock, fake } = line;
      await midAnswer(line);
      carrier.stallReading();
      await clock.advance(10_000);
      carrier.resumeReading();
      await clock.advance(100);
      // All of it comes at once, no more than ten seconds of it, and can be talked over.
      expect(carrier.queuedMs).toBeGreaterThan(5000);
      expect(carrier.queuedMs).toBeLessThanOrEqual(10_500);
      fake.session.startSpeech();
      await clock.advance(100);
      expect(carrier.queuedMs).toBe(0);
      fake.session.endSpeech();
      await clock.advance(3000);
      await isAnswered(line);
    },
  },
  {
    fault: 'carrier: stops reading for good',
    options: {
      turns: ({ index }) => [say(LONG, { durationMs: index === 0 ? 290_000 : ANSWER_MS })],
      model: { timing: { speed: 1.2 } },
    },
    ends: 'backpressure',
    strike: async (line) => {
      await midAnswer(line);
      line.carrier.stallReading();
      await line.clock.waitFor('the end', () => line.ended.length > 0, 200_000);
    },
  },
  {
    fault: 'carrier: garbage',
    options: { turns: longThenShort },
    ends: 'protocol_error',
    strike: async (line) => {
      await midAnswer(line);
      line.carrier.sendRaw('{"event":"mark","mark":');
      await line.clock.advance(1000);
    },
  },
  {
    fault: 'tool: hangs',
    options: tool('read_file', { outcome: { type: 'hang' }, abortable: false }),
    strike: async (line) => {
      const { carrier, clock, gateway } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      const from = carrier.nowMs;
      await clock.advance(7500);
      // The line is not dead meanwhile.
      expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(VERBATIM_MS - 20);
      await clock.advance(5000);
      expect(outputsOf(line)).toEqual([expect.stringMatching(/did not answer in time/)]);
      expect(gateway.calls[0]?.abortedAtMs).not.toBeNull();
      expect(heardMs(carrier, from + 7500)).toBeGreaterThanOrEqual(ANSWER_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'tool: throws',
    options: tool('read_file', { outcome: { type: 'throw', error: new Error('a secret path') } }),
    strike: async (line) => {
      const { carrier, clock } = line;
      await callerSays(line);
      await clock.advance(3000);
      expect(outputsOf(line)).toEqual([expect.stringMatching(/^Error/)]);
      expect(outputsOf(line).join('')).not.toContain('secret');
      expect(heardMs(carrier)).toBeGreaterThanOrEqual(ANSWER_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'host: gone',
    options: {
      ...tool('read_file', 'never'),
      parts: {
        // As a channel is handed one; behind it everything fails.
        gateway: createToolGatewayFacade(
          {
            getToolDefinitions: () => {
              throw new Error('the host has exited');
            },
            executeTool: () => Promise.reject(new Error('the host has exited')),
          },
          { channel: 'realtime' },
        ),
      },
    },
    strike: async (line) => {
      const { carrier, clock } = line;
      await callerSays(line);
      await clock.advance(3000);
      expect(outputsOf(line)).toEqual([expect.stringMatching(/^Error/)]);
      expect(heardMs(carrier)).toBeGreaterThanOrEqual(ANSWER_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'host: a gateway that rejects',
    options: {
      ...tool('read_file', 'never'),
      parts: {
        gateway: {
          getToolDefinitions: () => [],
          executeTool: () => Promise.reject(new Error('the host has exited')),
        },
      },
    },
    strike: async (line) => {
      const { carrier, clock } = line;
      await callerSays(line);
      await clock.advance(3000);
      expect(outputsOf(line)).toEqual([expect.stringMatching(/^Error/)]);
      expect(heardMs(carrier)).toBeGreaterThanOrEqual(ANSWER_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'disk: full',
    options: { ...tool('read_file', 'milk and bread'), parts: { store: new FullDisk() } },
    strike: async (line) => {
      const { carrier, clock } = line;
      await callerSays(line);
      await clock.advance(3000);
      // Not a disk is heard: tool, answer and all.
      expect(outputsOf(line)).toEqual(['milk and bread']);
      expect(heardMs(carrier)).toBeGreaterThanOrEqual(ANSWER_MS - 20);
      await isAnswered(line);
    },
  },
  {
    fault: 'disk: the recording can not be written',
    options: { turns: longThenShort, parts: { recordingDirectory: '/dev/null/recordings' } },
    withoutRecord: true,
    strike: async (line) => {
      await midAnswer(line);
      await line.clock.advance(6000);
      await isAnswered(line);
      line.carrier.hangup();
      await line.clock.advance(1000);
      expect(line.logs.join('')).toContain('the recording could not be written');
    },
    ends: 'caller_hangup',
  },
  ...[-3_600_000, 3_600_000, 86_400_000].map(
    (ms): Fault => ({
      fault: 'clock: the date is set',
      options: { turns: longThenShort, clock: new JumpingClock() },
      strike: async (line) => {
        const { carrier, clock, fake } = line;
        await midAnswer(line);
        const from = carrier.nowMs;
        (clock as JumpingClock).setDateBy(ms);
        await clock.advance(4000);
        expect(longestGap(line, from, from + 3500)).toBeLessThanOrEqual(0);
        await clock.advance(3000);
        await isAnswered(line);
        expect(fake.sessions).toHaveLength(1);
      },
    }),
  ),
  {
    fault: 'clock: the machine stood still for 5 s',
    options: {
      turns: ({ index }) => [say(LONG, { durationMs: index === 0 ? 20_000 : ANSWER_MS })],
      clock: new JumpingClock(),
    },
    strike: async (line) => {
      const { carrier, clock, fake } = line;
      await midAnswer(line);
      (clock as JumpingClock).standStill(5000);
      await clock.advance(2000);
      // It goes on, with no more sent ahead than ever.
      expect(carrier.queuedMs).toBeLessThanOrEqual(220);
      fake.session.startSpeech();
      await clock.advance(100);
      const [cut] = fake.session.receivedOf('conversation.item.truncate');
      // What was not played while it stood still was not heard.
      const heard = heardMs(carrier);
      expect(Math.abs((cut?.audio_end_ms ?? -1) - heard)).toBeLessThanOrEqual(250);
      fake.session.endSpeech();
      await clock.advance(3000);
      await isAnswered(line);
    },
  },
];
