/** Calls that connect and die at random points, several at a time, on one desk. */

import { call, say, stall } from '../../src/testing/index.ts';
import { errorEvent, openExchange, speech } from '../bugs/line.ts';
import { pendingOn } from './leftovers.ts';
import { Chance } from './random.ts';

const DEATHS = [
  'hangup',
  'reset',
  'reset while it does not read',
  'garbage',
  'our own hang-up',
  'model reset',
  'model refuses',
  'never starts',
  'silence',
] as const;

export interface Deaths {
  readonly calls: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly pending: number;
  readonly activeCalls: number;
  readonly openSessions: number;
  readonly openCarriers: number;
  readonly violations: readonly string[];
}

export async function dieAtRandom(calls: number, seed: number): Promise<Deaths> {
  const chance = new Chance(seed);
  const exchange = openExchange({
    config: {
      greeting: 'Hello.',
      limits: { maxCalls: 16, reconnectGraceS: 1, toolTimeoutS: 5, noMediaTimeoutS: 5 },
    },
    tools: {
      read_file: { latencyMs: 900, outcome: 'milk' },
      send_email: { latencyMs: 2500, outcome: 'sent' },
      broken: { outcome: { type: 'throw', error: new Error('broken') } },
      hangs: { outcome: { type: 'hang' } },
    },
    turns: () =>
      chance.pick([
        () => [say('An answer.', { durationMs: 3000 })],
        () => [call('read_file'), call('send_email', { n: chance.next() })],
        () => [call('hangs'), say('One moment.', { durationMs: 900 })],
        () => [call('broken')],
        () => [say('Goodbye.', { durationMs: 400 }), call('end_call')],
        () => [stall()],
      ])(),
  });
  const { clock, desk, ended, fake } = exchange;
  const carriers: { readonly isClosed: boolean; readonly violations: readonly { reason: string }[] }[] = [];

  const one = async (): Promise<void> => {
    const { carrier, call: conductor } = await exchange.dial();
    const session = fake.session;
    carriers.push(carrier);
    const death = chance.pick(DEATHS);
    if (death !== 'never starts') carrier.start();
    await clock.advance(chance.int(3000));
    for (let turns = chance.int(3); turns > 0 && !carrier.isClosed; turns -= 1) {
      void carrier.speak(speech(300 + chance.int(900)));
      if (chance.int(3) === 0) carrier.dtmf(chance.pick([...'0123456789*#']));
      await clock.advance(500 + chance.int(4000));
    }
    switch (death) {
      case 'hangup':
      case 'never starts':
        carrier.hangup();
        break;
      case 'reset':
        carrier.reset();
        break;
      case 'reset while it does not read':
        carrier.stallReading();
        await clock.advance(chance.int(2000));
        carrier.reset();
        break;
      case 'garbage':
        carrier.sendRaw('{');
        break;
      case 'our own hang-up':
        conductor.end('shutdown');
        break;
      case 'model reset':
        session.reset();
        await clock.advance(chance.int(1500));
        carrier.hangup();
        break;
      case 'model refuses':
        session.inject(errorEvent('insufficient_quota') as { type: string });
        break;
      case 'silence':
        carrier.pauseMedia();
        break;
      default:
        death satisfies never;
    }
    // A few may live on while the next ones come.
    if (chance.int(2) === 0) await clock.advance(chance.int(2000));
  };
  for (let n = 0; n < calls; n += 1) {
    // All lines may be busy with the dying: then the next one waits.
    if (desk.activeCalls + desk.pendingCalls >= 16)
      await clock.waitFor('a free line', () => desk.activeCalls + desk.pendingCalls < 12);
    await one();
  }
  await clock.waitFor('the last end', () => ended.length === calls, 120_000);
  await clock.advance(40_000);
  const reasons: Record<string, number> = {};
  for (const { reason } of ended) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const crossings = ['response_cancel_not_active', 'conversation_already_has_active_response'];
  return {
    calls: ended.length,
    reasons,
    pending: pendingOn(clock),
    activeCalls: desk.activeCalls + desk.pendingCalls,
    openSessions: fake.sessions.filter((session) => session.isOpen).length,
    openCarriers: carriers.filter((carrier) => !carrier.isClosed).length,
    violations: [
      ...fake.violations.map(({ code }) => code).filter((code) => !crossings.includes(code)),
      ...carriers.flatMap(({ violations }) => violations.map(({ reason }) => reason)),
    ],
  };
}
