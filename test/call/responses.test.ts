import { describe, expect, it } from 'vitest';
import {
  COLLISION_RETRY_MS,
  MAX_CANCELLED_RESPONSES,
  MAX_RESENDS,
  MAX_WAITING_REQUESTS,
  REQUEST_TIMEOUT_MS,
  type ResponseEffect,
  ResponseSequencer,
} from '../../src/call/responses.ts';

const requestId = (effects: ResponseEffect[]) => {
  const request = effects.find((effect) => effect.type === 'request');
  return request?.type === 'request' ? request.requestId : null;
};
const create = () => new ResponseSequencer({ stallMs: 15_000 });

describe('the response sequencer', () => {
  it('has one request on its way, and merges continuations behind it', () => {
    const sequencer = create();
    expect(requestId(sequencer.request({ kind: 'continuation' }, 0))).toBe('rq_1');
    expect(sequencer.request({ kind: 'continuation' }, 0)).toEqual([]);
    expect(sequencer.request({ kind: 'continuation' }, 0)).toEqual([]);
    sequencer.started({ responseId: 'r1', requestId: 'rq_1' }, 10);

    expect(requestId(sequencer.done('r1', 20))).toBe('rq_2');
    sequencer.started({ responseId: 'r2', requestId: 'rq_2' }, 30);
    expect(sequencer.done('r2', 40)).toEqual([]);
  });

  it('never merges prompts: two announcements in one tick are two responses, one after the other', () => {
    const sequencer = create();
    sequencer.request({ kind: 'prompt', say: 'one' }, 0);
    sequencer.request({ kind: 'prompt', say: 'two' }, 0);
    sequencer.started({ responseId: 'r1', requestId: 'rq_1' }, 10);

    expect(sequencer.done('r1', 20)).toEqual([
      { type: 'request', requestId: 'rq_2', wish: { kind: 'prompt', say: 'two' } },
    ]);
  });

  it('sends a request again after a collision with the model’s own response, and loses none', () => {
    const sequencer = create();
    const first = requestId(sequencer.request({ kind: 'continuation' }, 0))!;
    sequencer.started({ responseId: 'own' }, 5);

    expect(sequencer.refused(first, true, 10)).toEqual([]);
    expect(requestId(sequencer.done('own', 10 + COLLISION_RETRY_MS))).toBe('rq_2');
  });

  it('gives a request up after so many collisions', () => {
    const sequencer = create();
    let now = 0;
    let id = requestId(sequencer.request({ kind: 'prompt' }, now))!;
    for (let i = 0; i < MAX_RESENDS; i++) {
      sequencer.refused(id, true, now);
      now += COLLISION_RETRY_MS;
      id = requestId(sequencer.tick(now))!;
    }

    expect(sequencer.refused(id, true, now)).toEqual([{ type: 'dropped', wish: { kind: 'prompt' } }]);
    expect(sequencer.isIdle).toBe(true);
  });

  it('lets an error touch the request it names and no other', () => {
    const sequencer = create();
    sequencer.request({ kind: 'prompt' }, 0);

    expect(sequencer.refused('rq_0', false, 1)).toEqual([]);
    expect(sequencer.isBusy).toBe(true);
  });

  it('remembers a cancel that is wanted before the response starts', () => {
    const sequencer = create();
    const id = requestId(sequencer.request({ kind: 'prompt' }, 0))!;
    expect(sequencer.interrupt(false)).toEqual([]);

    expect(sequencer.started({ responseId: 'r1', requestId: id }, 10)).toEqual([{ type: 'cancel' }]);
    expect(sequencer.isCancelled('r1')).toBe(true);
  });

  it('cancels an active response once, whoever asks again', () => {
    const sequencer = create();
    sequencer.started({ responseId: 'own' }, 0);

    expect(sequencer.interrupt(false)).toEqual([{ type: 'cancel' }]);
    expect(sequencer.interrupt(false)).toEqual([]);
  });

  it('does not cancel what the model cancels itself, but drops its late audio all the same', () => {
    const sequencer = create();
    sequencer.started({ responseId: 'own' }, 0);

    expect(sequencer.interrupt(true)).toEqual([]);
    expect(sequencer.isCancelled('own')).toBe(true);
  });

  it('cancels a response that shows no sign of life, and goes on', () => {
    const sequencer = create();
    sequencer.started({ responseId: 'own' }, 0);
    sequencer.request({ kind: 'prompt' }, 1);
    sequencer.sign('own', 10_000);
    expect(sequencer.tick(24_999)).toEqual([]);

    const effects = sequencer.tick(25_000);

    expect(effects.map((effect) => effect.type)).toEqual(['cancel', 'stalled', 'request']);
    expect(sequencer.done('own', 26_000)).toEqual([]);
  });

  it('asks again when a request is neither started nor refused', () => {
    const sequencer = create();
    sequencer.request({ kind: 'continuation' }, 0);

    expect(sequencer.tick(REQUEST_TIMEOUT_MS).map((effect) => effect.type)).toEqual(['stalled', 'request']);
  });

  it('waits while the caller has the floor, and drops a refresh that another response served', () => {
    const sequencer = create();
    sequencer.hold();
    sequencer.request({ kind: 'refresh' }, 0);
    sequencer.started({ responseId: 'own' }, 5);

    expect(sequencer.release(6)).toEqual([]);
    expect(sequencer.done('own', 7)).toEqual([]);
    expect(sequencer.isIdle).toBe(true);
  });

  it('keeps prompts over a lost session, and nothing else', () => {
    const sequencer = create();
    sequencer.request({ kind: 'prompt', say: 'kept' }, 0);
    sequencer.request({ kind: 'continuation' }, 0);

    sequencer.reset();

    expect(sequencer.tick(1)).toMatchObject([{ type: 'request', wish: { say: 'kept' } }]);
    expect(sequencer.waitingCount).toBe(0);
  });

  it('is bounded: the oldest of too many wishes is dropped and said to be', () => {
    const sequencer = create();
    sequencer.hold();
    const effects = Array.from({ length: MAX_WAITING_REQUESTS + 2 }, () =>
      sequencer.request({ kind: 'prompt' }, 0),
    ).flat();

    expect(sequencer.waitingCount).toBe(MAX_WAITING_REQUESTS);
    expect(effects.map((effect) => effect.type)).toEqual(['dropped', 'dropped']);
  });

  it('remembers a bounded number of cancelled responses', () => {
    const sequencer = create();
    for (let i = 0; i < MAX_CANCELLED_RESPONSES + 10; i++) sequencer.discard(`r${i}`);

    expect(sequencer.cancelledCount).toBe(MAX_CANCELLED_RESPONSES);
    expect(sequencer.isCancelled(`r${MAX_CANCELLED_RESPONSES + 9}`)).toBe(true);
  });
});
