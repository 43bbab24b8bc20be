import { describe, expect, it } from 'vitest';
import { chatIdOf } from '../../src/call/caller.ts';
import { DigitCollector, ENTRY_PAUSE_MS, MAX_ENTRY_DIGITS } from '../../src/call/dtmf.ts';
import {
  GOODBYE_START_MS,
  Hangup,
  MAX_GOODBYE_MS,
  MAX_MUTED_MS,
  SilenceWatch,
} from '../../src/call/hangup.ts';
import { composeInstructions } from '../../src/call/instructions.ts';
import { LatencyMeter } from '../../src/call/latency.ts';
import { ConversationMemory, MAX_MEMORY_CHARS, MAX_MEMORY_ITEMS } from '../../src/call/memory.ts';
import { heardWords, MAX_OPEN_TRANSCRIPTS, SpokenWords } from '../../src/call/transcript.ts';
import { Floor } from '../../src/call/turns.ts';

describe('heard words', () => {
  it('end at the last word that was heard whole', () => {
    expect(heardWords('one two three four', 500, 1000)).toBe('one two');
    expect(heardWords('one two three four', 1000, 1000)).toBe('one two three four');
    expect(heardWords('one two three four', 0, 1000)).toBe('');
    expect(heardWords('one two', 100, 0)).toBe('');
  });

  it('are kept for a bounded number of items', () => {
    const words = new SpokenWords();
    for (let i = 0; i < MAX_OPEN_TRANSCRIPTS + 5; i++) words.add(`i${i}`, 'x', false);

    expect(words.size).toBe(MAX_OPEN_TRANSCRIPTS);
  });
});

describe('digits', () => {
  it('are one entry after the pound key, a pause, or when full', () => {
    const digits = new DigitCollector();
    expect([digits.digit('1', 0), digits.digit('2', 1), digits.digit('#', 2)]).toEqual([null, null, '12']);
    digits.digit('7', 10);
    expect(digits.tick(10 + ENTRY_PAUSE_MS - 1)).toBeNull();
    expect(digits.tick(10 + ENTRY_PAUSE_MS)).toBe('7');
    const entries = Array.from({ length: MAX_ENTRY_DIGITS }, () => digits.digit('5', 20));

    expect(entries.at(-1)).toBe('5'.repeat(MAX_ENTRY_DIGITS));
    expect(digits.isEmpty).toBe(true);
  });
});

describe('the hang-up', () => {
  it('waits for the goodbye to begin and to be heard, within a bound', () => {
    const hangup = new Hangup();
    hangup.plan('agent_hangup', { final: false, spoken: false }, 0);
    expect(hangup.tick(100, true)).toBeNull();
    hangup.goodbyeBegan();
    expect(hangup.tick(200, false)).toBeNull();
    expect(hangup.tick(300, true)).toBe('agent_hangup');

    const silent = new Hangup();
    silent.plan('agent_hangup', { final: false, spoken: false }, 0);
    expect(silent.tick(GOODBYE_START_MS, true)).toBe('agent_hangup');
    const endless = new Hangup();
    endless.plan('agent_hangup', { final: false, spoken: true }, 0);
    expect(endless.tick(MAX_GOODBYE_MS, false)).toBe('agent_hangup');
  });

  it('is taken back by the caller unless it is final, and keeps its first reason', () => {
    const hangup = new Hangup();
    hangup.plan('agent_hangup', { final: false, spoken: true }, 0);
    expect(hangup.takeBack()).toBe(true);
    hangup.plan('max_duration', { final: true, spoken: true }, 1);
    expect(hangup.takeBack()).toBe(false);
    hangup.plan('agent_hangup', { final: false, spoken: true }, 2);

    expect(hangup.end('caller_hangup')).toBe(true);
    expect(hangup.reason).toBe('max_duration');
    expect(hangup.end('connection_lost')).toBe(false);
  });
});

describe('a caller’s silence', () => {
  it('is asked about once and then ends the call; it stands still while something goes on', () => {
    const watch = new SilenceWatch(1000);
    expect(watch.tick(0, false)).toBeNull();
    expect(watch.tick(900, true)).toBeNull();
    expect(watch.tick(1000, false)).toBeNull();
    expect(watch.tick(2000, false)).toBe('ask');
    expect(watch.tick(2100, false)).toBeNull();
    expect(watch.tick(3100, false)).toBe('end');
  });

  it('is what a muted caller wants: nobody asks, for so long at a time', () => {
    const watch = new SilenceWatch(1000);
    watch.tick(0, false);
    watch.muted(true, 500);
    expect(watch.tick(MAX_MUTED_MS + 499, false)).toBeNull();
    expect(watch.tick(MAX_MUTED_MS + 500, false)).toBeNull();
    expect(watch.tick(MAX_MUTED_MS + 1500, false)).toBe('ask');
    watch.muted(false, MAX_MUTED_MS + 1600);
    watch.tick(MAX_MUTED_MS + 1600, false);
    expect(watch.tick(MAX_MUTED_MS + 2600, false)).toBe('ask');
  });

  it('begins anew when the caller was heard', () => {
    const watch = new SilenceWatch(1000);
    watch.tick(0, false);
    watch.tick(1000, false);
    watch.callerActive();
    watch.tick(1100, false);

    expect(watch.tick(2100, false)).toBe('ask');
  });
});

describe('the floor', () => {
  it('protects an opening until it was heard or its cap is reached', () => {
    const floor = new Floor({ policy: 'immediate', minSpeechMs: 0, confirmMs: 0 });
    floor.protect(1000);
    expect(floor.speechStarted('model', true, 500)).toEqual([]);
    floor.speechStopped('model', 600);

    expect(floor.speechStarted('model', true, 1000)).toEqual([{ type: 'interrupt', source: 'model' }]);
  });

  it('waits for so much speech under the other policy', () => {
    const floor = new Floor({ policy: 'after-speech', minSpeechMs: 300, confirmMs: 800 });
    expect(floor.speechStarted('model', true, 0)).toEqual([]);
    expect(floor.tick(true, 299)).toEqual([]);
    expect(floor.tick(true, 300)).toEqual([{ type: 'interrupt', source: 'model' }]);
    expect(floor.tick(true, 400)).toEqual([]);
  });
});

describe('the latency of a turn', () => {
  it('runs from the last word to the first sound after it, once, with the time in tools apart', () => {
    const meter = new LatencyMeter();
    meter.speechEnded(1000);
    meter.toolStarted(1200);
    meter.toolStarted(1300);
    meter.toolEnded(1500);
    meter.toolEnded(1900);

    expect(meter.agentStarted(2000)).toEqual({ speechEndAt: 1000, agentStartAt: 2000, toolMs: 700 });
    expect(meter.agentStarted(2100)).toBeNull();
  });
});

describe('the memory of a call', () => {
  it('keeps a turn’s place though its words come after the answer', () => {
    const memory = new ConversationMemory([]);
    memory.reserve('u1');
    memory.add('assistant', 'At five.');
    memory.fill('u1', 'When?');

    expect(memory.history().map((item) => item.text)).toEqual(['When?', 'At five.']);
  });

  it('is bounded in items and characters, newest kept', () => {
    const memory = new ConversationMemory([{ role: 'user', text: 'old' }]);
    for (let i = 0; i < 200; i++) memory.add(i % 2 ? 'assistant' : 'user', `${i} ${'x'.repeat(100)}`);

    const history = memory.history();

    expect(history.length).toBeLessThanOrEqual(MAX_MEMORY_ITEMS);
    expect(history.reduce((sum, item) => sum + item.text.length, 0)).toBeLessThanOrEqual(MAX_MEMORY_CHARS);
    expect(history.at(-1)!.text).toMatch(/^199/);
  });
});

describe('identity', () => {
  it('opens a person’s session only when it is as strong as the config asks', () => {
    expect(chatIdOf({ strength: 'claimed', id: '+15550100' }, 'call', 'authenticated')).toBe('call');
    expect(chatIdOf({ strength: 'attested', id: '+15550100' }, 'call', 'attested')).toBe('+15550100');
    expect(chatIdOf({ strength: 'none', id: null }, 'call', 'claimed')).toBe('call');
  });

  it('is told to the model without the number', () => {
    const instructions = composeInstructions({
      persona: 'You are a test.',
      caller: { strength: 'claimed', id: '+15550100' },
      route: 'twilio',
      locale: 'en-us',
      timezone: 'Europe/Paris',
      now: Date.UTC(2026, 0, 2, 12),
      hasTools: true,
      hasHistory: false,
    });

    expect(instructions).toContain('You are a test.');
    expect(instructions).toContain('Friday, January 2, 2026 at 1:00');
    expect(instructions).toContain('not verified');
    expect(instructions).not.toContain('5550100');
  });
});
