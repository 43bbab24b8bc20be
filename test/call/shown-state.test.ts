import { describe, expect, it } from 'vitest';
import { type CallActivity, ShownStateWatch } from '../../src/call/shown-state.ts';

const IDLE: CallActivity = {
  isEnding: false,
  callerSpeaks: false,
  isAsking: false,
  agentSpeaks: false,
  toolsRun: false,
  isThinking: false,
};

describe('what a call is shown to be doing', () => {
  it.each([
    ['listening', {}],
    ['thinking', { isThinking: true }],
    ['working', { isThinking: true, toolsRun: true }],
    ['speaking', { toolsRun: true, agentSpeaks: true }],
    ['asking', { agentSpeaks: true, isAsking: true }],
    ['hearing', { isAsking: true, callerSpeaks: true }],
    ['ending', { isEnding: true, callerSpeaks: true }],
  ] as const)('is %s when that counts most', (state, activity) => {
    expect(new ShownStateWatch().changed({ ...IDLE, ...activity })).toBe(state);
  });

  it('is told only when it changes, and anew to a new leg', () => {
    const watch = new ShownStateWatch();
    const seen = [IDLE, IDLE, { ...IDLE, agentSpeaks: true }].map((each) => watch.changed(each));
    watch.reset();
    expect([...seen, watch.changed({ ...IDLE, agentSpeaks: true })]).toEqual([
      'listening',
      null,
      'speaking',
      'speaking',
    ]);
  });
});
