import { describe, expect, it } from 'vitest';
import {
  MAX_ARGS_CHARS,
  MAX_CALLS_PER_RESPONSE,
  MAX_ROUNDS_WITHOUT_CALLER,
  MAX_RUNNING_CALLS,
  TOOL_TEXT,
  type ToolEffect,
  ToolLedger,
  type ToolPolicy,
} from '../../src/call/tools.ts';

const POLICY: ToolPolicy = { timeoutMs: 1000, exclusive: false, onInterrupt: 'abort', onHangup: 'abort' };
const ledgerOf = (policy: Partial<ToolPolicy> = {}) => new ToolLedger(() => ({ ...POLICY, ...policy }));
const call = (callId: string, args = '{}', responseId = 'r') => ({ callId, responseId, name: 't', args });
const types = (effects: ToolEffect[]) => effects.map((effect) => effect.type);

describe('the tool ledger', () => {
  it('gives each call one output and the batch one continuation, in any order of ends', () => {
    const ledger = ledgerOf();
    ledger.called(call('a'), 0);
    ledger.called(call('b'), 0);
    expect(types(ledger.finished('b', 'B', false, 1))).toEqual(['output']);
    expect(ledger.responseDone('r', false)).toEqual([]);

    expect(types(ledger.finished('a', 'A', false, 2))).toEqual(['output', 'continue']);
    expect(ledger.finished('a', 'again', false, 3)).toEqual([]);
  });

  it('waits for the end of the response before the model speaks about it', () => {
    const ledger = ledgerOf();
    ledger.called(call('a'), 0);
    expect(types(ledger.finished('a', 'A', false, 1))).toEqual(['output']);

    expect(ledger.responseDone('r', false)).toEqual([
      { type: 'continue', responseId: 'r', interrupted: false },
    ]);
  });

  it('runs a call that comes after the end of its response', () => {
    const ledger = ledgerOf();
    ledger.responseDone('r', false);

    expect(types(ledger.called(call('a'), 0))).toEqual(['run']);
    expect(types(ledger.finished('a', 'A', false, 1))).toEqual(['output', 'continue']);
  });

  it('runs exclusive calls one after the other', () => {
    const ledger = ledgerOf({ exclusive: true });
    expect(types(ledger.called(call('a'), 0))).toEqual(['run']);
    expect(types(ledger.called(call('b'), 0))).toEqual([]);

    expect(types(ledger.finished('a', 'A', false, 1))).toEqual(['output', 'run']);
  });

  it('measures the deadline of a waiting call from when it ran', () => {
    const ledger = ledgerOf({ exclusive: true });
    ledger.called(call('a'), 0);
    ledger.called(call('b'), 0);
    ledger.finished('a', 'A', false, 900);

    expect(ledger.tick(1500)).toEqual([]);
    expect(types(ledger.tick(1900))).toEqual(['abort', 'output']);
  });

  it('never answers the same call id twice, whatever its arguments', () => {
    const ledger = ledgerOf();
    ledger.called(call('a', '{"amount":5}'), 0);
    ledger.finished('a', 'paid', false, 1);

    expect(ledger.called(call('a', '{"amount":500}'), 2)).toEqual([]);
  });

  it.each([
    ['not json', TOOL_TEXT.malformed],
    ['[]', TOOL_TEXT.malformed],
    ['null', TOOL_TEXT.malformed],
    [`{"a":"${'x'.repeat(MAX_ARGS_CHARS)}"}`, TOOL_TEXT.oversized],
  ])('answers unusable arguments with an error and does not run them (%#)', (args, output) => {
    expect(ledgerOf().called(call('a', args), 0)).toEqual([
      { type: 'output', callId: 'a', output, isError: true },
    ]);
  });

  it('takes an empty argument text as no arguments', () => {
    expect(types(ledgerOf().called(call('a', ''), 0))).toEqual(['run']);
  });

  it('is bounded in running calls and in calls of one response', () => {
    const ledger = ledgerOf();
    const effects = Array.from({ length: MAX_RUNNING_CALLS + 1 }, (_, i) =>
      ledger.called(call(`c${i}`), 0),
    ).flat();
    expect(effects.at(-1)).toMatchObject({ type: 'output', output: TOOL_TEXT.tooMany });

    const other = ledgerOf();
    for (let i = 0; i < MAX_CALLS_PER_RESPONSE; i++) {
      other.called(call(`c${i}`), 0);
      other.finished(`c${i}`, '', false, 0);
    }
    expect(other.called(call('more'), 0)).toMatchObject([{ output: TOOL_TEXT.tooMany }]);
  });

  it('stops a model that calls on and on without the caller, until the caller speaks', () => {
    const ledger = ledgerOf();
    for (let round = 0; round < MAX_ROUNDS_WITHOUT_CALLER; round++) {
      ledger.called(call(`c${round}`, '{}', `r${round}`), 0);
      ledger.finished(`c${round}`, '', false, 0);
      ledger.responseDone(`r${round}`, false);
    }
    expect(ledger.called(call('x', '{}', 'rx'), 0)).toMatchObject([{ output: TOOL_TEXT.rounds }]);
    ledger.callerSpoke();

    expect(types(ledger.called(call('y', '{}', 'ry'), 0))).toEqual(['run']);
  });

  it('lets what must not be lost finish after an interruption, and answers it once', () => {
    const ledger = ledgerOf({ onInterrupt: 'finish' });
    ledger.called(call('a'), 0);
    expect(ledger.interrupted(1)).toEqual([]);
    ledger.responseDone('r', true);

    expect(ledger.finished('a', 'done', false, 2)).toEqual([
      { type: 'output', callId: 'a', output: 'done', isError: false },
      { type: 'continue', responseId: 'r', interrupted: true },
    ]);
  });

  it('aborts or detaches at the hang-up, as the policy says', () => {
    const aborting = ledgerOf();
    aborting.called(call('a'), 0);
    expect(aborting.hungUp()).toEqual([{ type: 'abort', callId: 'a' }]);

    const finishing = ledgerOf({ onHangup: 'finish' });
    finishing.called(call('a'), 0);
    expect(finishing.hungUp()).toEqual([]);
    expect(types(finishing.finished('a', 'done', false, 5))).toEqual(['late']);
  });

  it('brings a result of an earlier session as late, not as an output', () => {
    const ledger = ledgerOf();
    ledger.called(call('a'), 0);
    ledger.newSession();

    expect(types(ledger.finished('a', 'done', false, 5))).toEqual(['late']);
  });

  it('does not wait for a call that the model withdrew', () => {
    const ledger = ledgerOf();
    ledger.called(call('a'), 0);
    ledger.called(call('b'), 0);
    ledger.responseDone('r', false);
    expect(types(ledger.cancelledByModel('a', 1))).toEqual(['abort']);

    expect(types(ledger.finished('b', 'B', false, 2))).toEqual(['output', 'continue']);
    expect(ledger.finished('a', 'A', false, 3)).toEqual([]);
  });
});
