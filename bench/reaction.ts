/**
 * How fast the engine answers what happens, from a message that comes in to the one that leaves because of it, between
 * two sockets that are functions; and two that go over the network: a webhook until the model is ready, a hang-up until
 * nothing of the call is left.
 *
 *   node bench/reaction.ts
 *
 * @module
 */

import { realClock } from '../src/clock.ts';
import type { ToolGateway } from '../src/gateway/index.ts';
import { type Distribution, distributionOf } from './lib/histogram.ts';
import { type Line, openLines } from './lib/lines.ts';

export interface ReactionResult {
  readonly name: string;
  readonly found: Distribution;
}

/** On the line at once. */
const CALLS = 200;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function reaction(rounds = 1200): Promise<ReactionResult[]> {
  let toolStartedAt = 0;
  let settle: (() => void) | null = null;
  const definition = {
    type: 'function' as const,
    function: {
      name: 'look_up',
      description: 'Looks it up.',
      parameters: { type: 'object', properties: {} },
    },
  };
  const gateway: ToolGateway = {
    getToolDefinitions: () => [definition],
    executeTool: () => {
      toolStartedAt = performance.now();
      return new Promise((resolve) => {
        settle = () => resolve({ content: 'forty-two', isError: false });
      });
    },
  };
  const { desk, lines, dial, hangUp, close } = await openLines(realClock, gateway);
  const admitted: number[] = [];
  const freed: number[] = [];
  const dialOne = async () => {
    const startedAt = performance.now();
    await dial(1);
    admitted.push(performance.now() - startedAt);
  };
  const hangUpOne = async (line: Line) => {
    const before = desk.activeCalls;
    const startedAt = performance.now();
    hangUp(line);
    for (let i = 0; i < 1000 && (desk.activeCalls === before || !line.isModelClosed); i += 1) await turn();
    freed.push(performance.now() - startedAt);
  };
  for (let i = 0; i < CALLS; i += 1) await dialOne();
  const clears: number[] = [];
  const starts: number[] = [];
  const outputs: number[] = [];
  let round = 0;
  for (; clears.length < rounds || outputs.length < rounds; round += 1) {
    const line = lines[round % lines.length];
    if (!line) break;
    // The agent speaks; the caller talks over it.
    line.beginAnswer();
    for (let i = 0; i < 5; i += 1) line.modelText(line.deltaText());
    let left = 0;
    line.onCarrier = (text) => {
      if (text.startsWith('{"event":"clear"')) left = performance.now();
    };
    const spokeAt = performance.now();
    line.model({ type: 'input_audio_buffer.speech_started', item_id: `i${round}`, audio_start_ms: 0 });
    if (left > 0) clears.push(left - spokeAt);
    line.model({
      type: 'response.done',
      response: { id: line.responseId, status: 'cancelled', output: [] },
    });
    line.model({ type: 'input_audio_buffer.speech_stopped', item_id: `i${round}`, audio_end_ms: 100 });
    // The model asks for a tool.
    line.beginAnswer();
    const item = { id: `f${round}`, type: 'function_call', name: 'look_up', call_id: `c${round}` };
    line.model({ type: 'response.output_item.added', response_id: line.responseId, output_index: 1, item });
    toolStartedAt = 0;
    settle = null;
    const askedAt = performance.now();
    line.model({
      type: 'response.function_call_arguments.done',
      response_id: line.responseId,
      item_id: `f${round}`,
      call_id: `c${round}`,
      name: 'look_up',
      arguments: '{}',
    });
    for (let i = 0; i < 50 && toolStartedAt === 0; i += 1) await turn();
    if (toolStartedAt === 0) continue;
    starts.push(toolStartedAt - askedAt);
    line.model({
      type: 'response.done',
      response: { id: line.responseId, status: 'completed', output: [] },
    });
    let toldAt = 0;
    line.onModel = (text) => {
      if (text.includes('function_call_output')) toldAt = performance.now();
    };
    const settledAt = performance.now();
    (settle as (() => void) | null)?.();
    for (let i = 0; i < 50 && toldAt === 0; i += 1) await turn();
    if (toldAt > 0) outputs.push(toldAt - settledAt);
    line.onCarrier = () => {};
    line.onModel = () => {};
    if (round > rounds * 3) break;
  }
  // A call comes and a call goes while the others are on the line.
  for (let i = 0; admitted.length < rounds; i += 1) {
    const line = lines[i];
    if (line) await hangUpOne(line);
    await dialOne();
  }
  for (let i = freed.length; i < lines.length; i += 1) {
    const line = lines[i];
    if (line) await hangUpOne(line);
  }
  await close();
  return [
    { name: 'speech_started arrives, clear leaves', found: distributionOf(clears) },
    { name: 'function_call_arguments.done arrives, the tool starts', found: distributionOf(starts) },
    { name: 'the tool’s result is there, function_call_output leaves', found: distributionOf(outputs) },
    { name: 'a call is admitted, its model is ready (no network)', found: distributionOf(admitted) },
    { name: 'the caller hangs up, nothing of the call is left', found: distributionOf(freed) },
  ];
}

if (import.meta.main) {
  for (const { name, found } of await reaction()) {
    console.log(
      `${name.padEnd(58)} p50 ${found.p50Ms}  p99 ${found.p99Ms ?? '-'}  max ${found.maxMs} ms  (n ${found.n})`,
    );
  }
  process.exit();
}
