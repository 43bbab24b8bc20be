/**
 * Five things that happen on a phone, and what would be right. Judged from outside: what the carrier was sent and
 * played, and what the model was told and refused.
 *
 * @module
 */

import { realClock } from '../../src/clock.ts';
import {
  call,
  FakeCarrier,
  FakeModel,
  type FakeModelOptions,
  say,
  type TurnHandler,
} from '../../src/testing/index.ts';
import { HANG_UP, type Peer, type PeerTool } from './peer.ts';

export interface Verdict {
  readonly passes: boolean;
  /** What was measured. */
  readonly found: string;
}

interface Stage {
  readonly carrier: FakeCarrier;
  readonly model: FakeModel;
}

export interface Scenario {
  readonly title: string;
  /** What would be right, in one sentence. */
  readonly right: string;
  readonly turns: TurnHandler;
  readonly tools?: readonly PeerTool[];
  readonly model?: FakeModelOptions;
  readonly play: (stage: Stage) => Promise<Verdict>;
}

const sleep = (ms: number) => new Promise<void>((resolve) => void realClock.setTimeout(resolve, ms));

async function until(condition: () => boolean, limitMs: number): Promise<boolean> {
  const end = realClock.now() + limitMs;
  while (realClock.now() < end) {
    if (condition()) return true;
    await sleep(10);
  }
  return condition();
}

/** The caller says something, as the model hears it. */
async function ask({ model, carrier }: Stage): Promise<number> {
  model.session.startSpeech();
  await sleep(300);
  model.session.endSpeech();
  return carrier.nowMs;
}

const heardMs = (carrier: FakeCarrier, fromMs = 0, toMs = Number.POSITIVE_INFINITY): number =>
  carrier
    .heardSegments()
    .reduce(
      (sum, { startMs, endMs }) => sum + Math.max(0, Math.min(endMs, toMs) - Math.max(startMs, fromMs)),
      0,
    );

const refusals = (model: FakeModel): string[] => [...new Set(model.violations.map(({ code }) => code))];

/** Items with what the model was told of them: ms, `deleted`, or `all` when it was told nothing. */
function toldOf(model: FakeModel): (number | 'deleted' | 'all')[] {
  const { session } = model;
  const spoken = [
    ...new Set(session.sentOf('response.output_audio.delta').map(({ item_id }) => String(item_id))),
  ];
  return spoken.map((id) => {
    const truncated = session.sentOf('conversation.item.truncated').find(({ item_id }) => item_id === id);
    const deleted = session.sentOf('conversation.item.deleted').some(({ item_id }) => item_id === id);
    return deleted ? 'deleted' : truncated ? Number(truncated.audio_end_ms) : 'all';
  });
}

async function interruptAt(stage: Stage, ms: number): Promise<{ stoppedMs: number; heard: number }> {
  const { carrier, model } = stage;
  await ask(stage);
  await until(() => carrier.heardSegments().length > 0, 4000);
  const startMs = carrier.heardSegments()[0]?.startMs ?? 0;
  await until(() => carrier.nowMs >= startMs + ms, ms + 2000);
  const at = carrier.nowMs;
  model.session.startSpeech();
  await sleep(1500);
  model.session.endSpeech();
  const endMs = carrier.heardSegments(40).at(0)?.endMs ?? 0;
  return { stoppedMs: endMs - at, heard: endMs - startMs };
}

const interrupted = (
  cut: { stoppedMs: number; heard: number },
  told: number | 'deleted' | 'all',
): Verdict => ({
  passes: cut.stoppedMs <= 100 && typeof told === 'number' && Math.abs(told - cut.heard) <= 150,
  found: `stopped after ${Math.round(cut.stoppedMs)} ms; heard ${Math.round(cut.heard)} ms, the model was told ${told}`,
});

export const SCENARIOS: readonly Scenario[] = [
  {
    title: 'an interruption at 2 s, while the answer is being generated',
    right: 'The line is silent within 100 ms, and the model is told what was heard, to 150 ms.',
    turns: ({ index }) => (index === 0 ? [say('A long answer.', { durationMs: 10_000 })] : []),
    model: { timing: { firstOutputMs: 100, speed: 1.5 } },
    play: async (stage) => interrupted(await interruptAt(stage, 2000), toldOf(stage.model)[0] ?? 'all'),
  },
  {
    title: 'an interruption at 2 s, when the answer has been generated to its end',
    right: 'The same.',
    turns: ({ index }) => (index === 0 ? [say('A long answer.', { durationMs: 10_000 })] : []),
    model: { timing: { firstOutputMs: 100, speed: 20 } },
    play: async (stage) => interrupted(await interruptAt(stage, 2000), toldOf(stage.model)[0] ?? 'all'),
  },
  {
    title: 'two queued items, and an interruption in the first',
    right: 'The first as above; of the second the model is told that nothing was heard.',
    turns: ({ index }) =>
      index === 0 ? [say('The first.', { durationMs: 5000 }), say('The second.', { durationMs: 5000 })] : [],
    model: { timing: { firstOutputMs: 100, speed: 20 } },
    play: async (stage) => {
      const cut = await interruptAt(stage, 2000);
      const [first, second] = toldOf(stage.model);
      const verdict = interrupted(cut, first ?? 'all');
      return {
        passes: verdict.passes && (second === 'deleted' || second === 0),
        found: `${verdict.found}; of the second ${second}`,
      };
    },
  },
  {
    title: 'a tool’s result while the caller speaks',
    right:
      'The agent does not talk over the caller; no request collides with the answer to them; the result is told once and heard of.',
    tools: [{ name: 'look_up', latencyMs: 1500, output: 'forty-two' }],
    turns: ({ index, toolOutputs }) => {
      if (index === 0) return [call('look_up', {})];
      const knows = toolOutputs.some(({ output }) => output.includes('forty-two'));
      return [say(knows ? 'It is forty-two.' : 'One moment.', { durationMs: 1200 })];
    },
    model: { timing: { firstOutputMs: 100, speed: 4 } },
    play: async (stage) => {
      const { model, carrier } = stage;
      await ask(stage);
      await sleep(1000);
      // From 1.0 s to 1.9 s the caller speaks; the result comes at 1.6 s.
      const from = carrier.nowMs;
      model.session.startSpeech();
      await sleep(900);
      const until = carrier.nowMs;
      model.session.endSpeech();
      await sleep(4500);
      const outputs = model.session
        .receivedOf('conversation.item.create')
        .filter(({ item }) => item.type === 'function_call_output');
      const said = model.session.items
        .flatMap(({ content }) => content ?? [])
        .map(({ transcript }) => transcript);
      const refused = refusals(model);
      const over = heardMs(carrier, from, until);
      const isSaid = said.includes('It is forty-two.') && heardMs(carrier, from) >= 1100;
      return {
        passes: refused.length === 0 && outputs.length === 1 && isSaid && over <= 40,
        found: `talked over the caller for ${Math.round(over)} ms; ${outputs.length} output, ${isSaid ? 'spoken of' : 'never heard of'}; refused: ${refused.join(', ') || 'nothing'}`,
      };
    },
  },
  {
    title: 'a goodbye that plays longer than it takes to generate',
    right: 'The goodbye is heard to its end, then the line drops within 3 s.',
    turns: ({ index }) =>
      index === 0
        ? [say('Goodbye, and thank you for calling.', { durationMs: 3000 }), call(HANG_UP, {})]
        : [],
    model: { timing: { firstOutputMs: 100, speed: 20 } },
    play: async (stage) => {
      const { carrier } = stage;
      await ask(stage);
      await until(() => carrier.isClosed, 9000);
      const heard = heardMs(carrier);
      const closedAfter = carrier.nowMs - (carrier.heardSegments().at(-1)?.endMs ?? 0);
      return {
        passes: carrier.isClosed && heard >= 2900 && closedAfter <= 3000,
        found: `heard ${Math.round(heard)} of 3000 ms; the line ${carrier.isClosed ? 'dropped' : 'did not drop'}`,
      };
    },
  },
  {
    title: 'the model’s session expires in the middle of an answer, as it does after 60 minutes',
    right: 'The caller notices at most a second of it, and their next question is answered.',
    turns: () => [say('An answer.', { durationMs: 3000 })],
    model: { timing: { firstOutputMs: 100, speed: 1 } },
    play: async (stage) => {
      const { model, carrier } = stage;
      await ask(stage);
      await until(() => heardMs(carrier) >= 1000, 4000);
      const { session } = model;
      const message = 'Your session hit the maximum duration of 60 minutes.';
      session.inject({
        type: 'error',
        error: { type: 'invalid_request_error', code: 'session_expired', message },
      } as {
        type: string;
      });
      session.close(1001, 'session_expired');
      const endedAt = carrier.nowMs;
      await sleep(5500);
      if (model.sessions.length === 1)
        return { passes: false, found: 'no new session; the caller hears nothing more' };
      // What was on its way is still heard; the gap begins after it.
      const [before, ...after] = carrier.heardSegments(100).filter(({ endMs }) => endMs > endedAt - 500);
      const gapMs = Math.round((after[0]?.startMs ?? Number.POSITIVE_INFINITY) - (before?.endMs ?? 0));
      const from = carrier.nowMs;
      await ask(stage);
      await sleep(2500);
      const answered = heardMs(carrier, from) >= 1800;
      return {
        passes: answered && gapMs <= 1000,
        found: `a new session, ${gapMs} ms of silence; the next question was ${answered ? '' : 'not '}answered`,
      };
    },
  },
];

/** One scenario with one peer, from the first ring to the end. */
export async function run(peer: Peer, scenario: Scenario): Promise<Verdict> {
  const model = new FakeModel({ ...scenario.model }).onTurn(scenario.turns);
  const modelUrl = await model.listen();
  const { carrier, socket } = FakeCarrier.inMemory({ clock: realClock });
  try {
    const running = await peer.answer({ modelUrl, socket, tools: scenario.tools ?? [] });
    carrier.start();
    await sleep(300);
    const verdict = await scenario.play({ carrier, model });
    carrier.hangup();
    await running.close();
    if (carrier.violations.length === 0) return verdict;
    return { passes: false, found: `${verdict.found}; Twilio refuses: ${carrier.violations[0]?.reason}` };
  } catch (error) {
    return { passes: false, found: `threw: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    carrier.reset();
    await model.close();
  }
}
