/** A conversation that goes on and on: every few seconds a tool, an interruption, or both. */

import type { FakeAction, TurnHandler } from '../../src/testing/index.ts';
import { call, say } from '../../src/testing/index.ts';
import { hangUp, placeCall, speech } from '../bugs/line.ts';
import { pendingOn } from './leftovers.ts';

export interface Tally {
  readonly minutes: number;
  readonly turns: number;
  readonly tools: number;
  readonly interruptions: number;
  readonly sessions: number;
  readonly listeners: { readonly first: number; readonly last: number };
  readonly timers: { readonly first: number; readonly last: number };
  /** After the call. */
  readonly pending: number;
}

function answers(): TurnHandler {
  let asked = 0;
  return ({ heard }) => (heard === null ? [say('There it is.', { durationMs: 800 })] : answer(asked++));
}

function answer(index: number): readonly FakeAction[] {
  switch (index % 4) {
    case 0:
      return [call('read_file', { n: index }), say('Let me see.', { durationMs: 700 })];
    case 1:
      return [say('A long story that nobody hears to its end.', { durationMs: 15_000 })];
    case 2:
      return [call('read_file', { n: index }), call('send_email', { n: index }), call('no_such_tool')];
    default:
      return [
        say('One.', { durationMs: 2500 }),
        say('Two.', { durationMs: 2500 }),
        say('Three.', { durationMs: 2500 }),
      ];
  }
}

/**
 * @param everyMinute - called between two turns, once a minute of the call
 */
export async function converse(
  minutes: number,
  everyMinute: (minute: number) => Promise<void> | void = () => {},
): Promise<Tally> {
  const line = await placeCall({
    config: { greeting: 'Hello.', limits: { maxCallS: 86_400, silenceTimeoutS: 3600, fillerAfterMs: 500 } },
    tools: {
      read_file: { latencyMs: 700, outcome: 'milk' },
      send_email: { latencyMs: 1600, outcome: 'sent' },
    },
    turns: answers(),
  });
  const { carrier, clock, fake, gateway, legs, store } = line;
  const timersNow = () => clock.pendingTimers;
  await clock.advance(2000);
  const first = { listeners: legs[0]!.listenerCount(), timers: timersNow() };
  const count = { turns: 0, tools: 0, interruptions: 0 };
  for (let minute = 1; minute <= minutes; minute += 1) {
    while (clock.now() < minute * 60_000) {
      await clock.drive(carrier.speak(speech(700)));
      await clock.advance(3300);
      count.turns += 1;
    }
    count.tools += gateway.calls.length;
    count.interruptions += carrier.received.filter(({ event }) => event === 'clear').length;
    carrier.assertClean();
    // The doubles remember everything; an hour of that is theirs and not the engine's.
    gateway.calls.length = 0;
    carrier.forget();
    for (const session of fake.sessions) session.forget();
    const last = Math.max(...[...store.turns.values()].map(({ turn }) => turn));
    for (const [key, { turn }] of store.turns) if (turn < last - 5) store.turns.delete(key);
    await everyMinute(minute);
  }
  await clock.advance(20_000);
  const last = { listeners: legs[0]!.listenerCount(), timers: timersNow() };
  await hangUp(line, ['response_cancel_not_active', 'conversation_already_has_active_response']);
  return {
    minutes,
    ...count,
    sessions: fake.sessions.length,
    listeners: { first: first.listeners, last: last.listeners },
    timers: { first: first.timers, last: last.timers },
    pending: pendingOn(clock),
  };
}
