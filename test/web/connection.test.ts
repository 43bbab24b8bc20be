import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  GIVE_UP_MS,
  GRACE_MS,
  type Line,
  type LineEffect,
  type LineEvent,
  PROBE_MS,
  step,
  type Ways,
} from '../../web/talk/connection.ts';

const WAYS: Ways = { webrtc: true, socket: true, fallbackAfterMs: 8000 };

class Driver {
  line: Line = { at: 'idle' };
  effects: LineEffect[] = [];
  now = 0;
  readonly ways: Ways;

  constructor(ways: Ways = WAYS) {
    this.ways = ways;
  }

  /** Gives back what is to be done after the last of them. */
  tell(...events: LineEvent[]): readonly LineEffect[] {
    let last: readonly LineEffect[] = [];
    for (const event of events) {
      const { line, effects } = step(this.line, event, this.ways, this.now);
      this.line = line;
      this.effects.push(...effects);
      last = effects;
    }
    return last;
  }
}

const CALL: LineEvent = { type: 'call', callId: null };
const MICROPHONE: LineEvent = { type: 'microphone' };
const ANSWERED: LineEvent = { type: 'answered', callId: 'c1' };
const CONNECTED: LineEvent = { type: 'connected' };
const live = (ways?: Ways) => {
  const driver = new Driver(ways);
  driver.tell(CALL, MICROPHONE, ANSWERED, CONNECTED);
  return driver;
};
const connects = (effects: readonly LineEffect[]) => effects.filter((effect) => effect.do === 'connect');

describe('the line of a page', () => {
  it('asks for the microphone before it calls, and calls by WebRTC', () => {
    const driver = new Driver();

    expect(driver.tell(CALL)).toEqual([{ do: 'microphone' }]);
    expect(connects(driver.tell(MICROPHONE))).toEqual([{ do: 'connect', way: 'webrtc', callId: null }]);
    driver.tell(ANSWERED, CONNECTED);
    expect(driver.line).toEqual({ at: 'live', way: 'webrtc', callId: 'c1' });
  });

  it('takes the other way after a bounded wait, naming the call that was answered', () => {
    const driver = new Driver();
    driver.tell(CALL, MICROPHONE);

    expect(driver.tell(ANSWERED)).toEqual([{ do: 'timer', afterMs: 8000 }]);
    const effects = driver.tell({ type: 'due' });

    expect(effects[0]).toEqual({ do: 'drop' });
    expect(connects(effects)).toEqual([{ do: 'connect', way: 'socket', callId: 'c1' }]);
  });

  it('takes it at once where ICE has failed, or the gateway has no WebRTC', () => {
    const failed = new Driver();
    failed.tell(CALL, MICROPHONE, ANSWERED);
    const none = live({ ...WAYS, webrtc: false });

    expect(connects(failed.tell({ type: 'lost' }))).toEqual([{ do: 'connect', way: 'socket', callId: 'c1' }]);
    expect(none.line).toMatchObject({ at: 'live', way: 'socket' });
  });

  it('says what is wrong when no way gets through', () => {
    const driver = new Driver();
    driver.tell(CALL, MICROPHONE, ANSWERED, { type: 'due' });

    const effects = driver.tell({ type: 'lost' });

    expect(driver.line).toEqual({ at: 'failed', problem: 'CONNECTION_FAILED' });
    expect(effects).toContainEqual({ do: 'release' });
  });

  it('does not try the other way when the gateway refuses the call', () => {
    const driver = new Driver();
    driver.tell(CALL, MICROPHONE, { type: 'refused', problem: 'CALL_LIMIT_REACHED' });

    expect(driver.line).toEqual({ at: 'failed', problem: 'CALL_LIMIT_REACHED' });
    expect(connects(driver.effects)).toHaveLength(1);
  });

  it('waits a moment for a connection that is away: a wobble does not end or replace it', () => {
    const driver = live();

    expect(driver.tell({ type: 'wobbled' })).toEqual([{ do: 'timer', afterMs: GRACE_MS }]);
    driver.tell({ type: 'steadied' });

    expect(driver.line.at).toBe('live');
    expect(connects(driver.effects)).toHaveLength(1);
  });

  it('calls again under the same call when it does not come back, and nobody does anything', () => {
    const driver = live();

    const effects = driver.tell({ type: 'wobbled' }, { type: 'due' });

    expect(effects[0]).toEqual({ do: 'drop' });
    expect(connects(effects)).toEqual([{ do: 'connect', way: 'webrtc', callId: 'c1' }]);
    driver.tell(ANSWERED, CONNECTED);
    expect(driver.line).toEqual({ at: 'live', way: 'webrtc', callId: 'c1' });
  });

  it('asks the line when the network changed, and replaces it only if it does not answer', () => {
    const answers = live();
    const gone = live();

    expect(answers.tell({ type: 'network_changed' })).toEqual([
      { do: 'ping' },
      { do: 'timer', afterMs: PROBE_MS },
    ]);
    answers.tell({ type: 'steadied' });
    const effects = gone.tell({ type: 'network_changed' }, { type: 'due' });

    expect(connects(answers.effects)).toHaveLength(1);
    expect(connects(effects)).toHaveLength(1);
  });

  it('tries again while the network is away, longer and longer, and gives up in the end', () => {
    const driver = live({ ...WAYS, webrtc: false });
    driver.tell({ type: 'lost' });
    const waits: (number | null)[] = [];
    for (let i = 0; i < 40 && driver.line.at !== 'over'; i++) {
      driver.now += 1000;
      const effects = driver.tell({ type: 'refused', problem: 'NETWORK' });
      waits.push(...effects.flatMap((effect) => (effect.do === 'timer' ? [effect.afterMs] : [])));
      driver.tell({ type: 'due' });
    }

    expect(waits.slice(0, 5)).toEqual([250, 500, 1000, 2000, 2000]);
    expect(driver.line).toEqual({ at: 'over', reason: 'connection_lost' });
    expect(driver.now).toBeGreaterThanOrEqual(GIVE_UP_MS);
  });

  it('stops trying when the gateway says that the call is over', () => {
    const driver = live();
    driver.tell({ type: 'lost' }, { type: 'refused', problem: 'CALL_NOT_FOUND' });

    expect(driver.line).toEqual({ at: 'over', reason: 'connection_lost' });
  });

  it('says so when the gateway does not know the page any more: its worker died', () => {
    const driver = live();
    driver.tell({ type: 'lost' }, { type: 'refused', problem: 'PAGE_AUTH_REQUIRED' });

    expect(driver.line).toEqual({ at: 'over', reason: 'gateway_lost' });
  });

  it('hangs up from wherever it is, and lets go of the microphone', () => {
    for (const driver of [live(), new Driver()]) {
      driver.tell(CALL);
      const effects = driver.tell({ type: 'hangup' });
      expect(effects.map((effect) => effect.do)).toEqual(['timer', 'hangup', 'release']);
    }
  });

  it('stays with a microphone that was refused: nothing is called', () => {
    const driver = new Driver();
    driver.tell(CALL, { type: 'refused', problem: 'MICROPHONE_REFUSED' });

    expect(driver.line).toEqual({ at: 'failed', problem: 'MICROPHONE_REFUSED' });
    expect(connects(driver.effects)).toEqual([]);
  });

  it('holds in any order of events: one connection at a time, none after the end, the microphone released', () => {
    const event = fc.constantFrom<LineEvent>(
      CALL,
      MICROPHONE,
      ANSWERED,
      CONNECTED,
      { type: 'wobbled' },
      { type: 'steadied' },
      { type: 'network_changed' },
      { type: 'lost' },
      { type: 'due' },
      { type: 'refused', problem: 'NETWORK' },
      { type: 'refused', problem: 'CALL_NOT_FOUND' },
      { type: 'ended', reason: 'agent_hangup' },
      { type: 'hangup' },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const driver = new Driver();
        let open = 0;
        let holdsMicrophone = false;
        for (const each of events) {
          driver.now += 700;
          for (const effect of driver.tell(each)) {
            if (effect.do === 'microphone') holdsMicrophone = true;
            if (effect.do === 'release') holdsMicrophone = false;
            if (effect.do === 'connect') open++;
            if (effect.do === 'drop' || effect.do === 'hangup') open = 0;
            expect(open).toBeLessThanOrEqual(1);
          }
          if (driver.line.at === 'over' || driver.line.at === 'failed') {
            expect(open).toBe(0);
            expect(holdsMicrophone).toBe(false);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });
});
