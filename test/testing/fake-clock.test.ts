import { describe, expect, it } from 'vitest';
import { delay } from '../../src/clock.ts';
import { FAKE_CLOCK_START_MS, FakeClock } from '../../src/testing/index.ts';

describe('virtual time', () => {
  it('fires timers in order of their time, then of their arming', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push(`late@${clock.now()}`), 30);
    clock.setTimeout(() => fired.push(`a@${clock.now()}`), 10);
    clock.setTimeout(() => fired.push(`b@${clock.now()}`), 10);
    clock.setTimeout(() => fired.push(`zero@${clock.now()}`), -5);

    await clock.advance(29);

    expect(fired).toEqual(['zero@0', 'a@10', 'b@10']);
    expect(clock.now()).toBe(29);
    expect(clock.wallNow()).toBe(FAKE_CLOCK_START_MS + 29);
    expect(clock.pendingTimers).toBe(1);
  });

  it('fires a timer that another timer armed inside the same advance', async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    clock.setTimeout(() => clock.setTimeout(() => at.push(clock.now()), 5), 10);

    await clock.advance(20);

    expect(at).toEqual([15]);
  });

  it('keeps order among a thousand shuffled timers', async () => {
    const clock = new FakeClock();
    const at: number[] = [];
    for (let i = 0; i < 1000; i += 1) clock.setTimeout(() => at.push(clock.now()), (i * 7919) % 1000);

    await clock.advance(1000);

    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(at.length).toBe(1000);
  });

  it('runs promise chains and immediates between two timers', async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    clock.setTimeout(() => {
      order.push('first');
      Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => order.push('microtask'));
      setImmediate(() => order.push('immediate'));
    }, 1);
    clock.setTimeout(() => order.push('second'), 1);

    await clock.advance(1);

    expect(order).toEqual(['first', 'microtask', 'immediate', 'second']);
  });

  it('stands still while tracked work is pending, and fires what that work armed', async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    clock.setTimeout(() => {
      void clock
        .track(new Promise<void>((resolve) => setTimeout(resolve, 15)))
        .then(() => clock.setTimeout(() => seen.push(`work@${clock.now()}`), 5));
    }, 10);
    clock.setTimeout(() => seen.push(`other@${clock.now()}`), 20);

    await clock.advance(30);

    expect(seen).toEqual(['work@15', 'other@20']);
    expect(clock.pendingWork).toBe(0);
  });

  it('gives up on tracked work that never settles instead of hanging', async () => {
    const clock = new FakeClock({ trackedStallLimitMs: 20 });
    void clock.track(new Promise(() => {}));

    await expect(clock.advance(10)).rejects.toThrow('did not settle');
  });

  it('hands the rejection of tracked work to whoever asked for it', async () => {
    const clock = new FakeClock();

    const tracked = clock.track(Promise.reject(new Error('disk on fire')));

    await expect(tracked).rejects.toThrow('disk on fire');
    expect(clock.pendingWork).toBe(0);
  });

  it('throws what a callback threw and can go on afterwards', async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    clock.setTimeout(() => {
      throw new Error('in the callback');
    }, 10);
    clock.setTimeout(() => fired.push(clock.now()), 20);

    await expect(clock.advance(30)).rejects.toThrow('in the callback');
    await clock.advance(30);

    expect(fired).toEqual([20]);
  });

  it('refuses a second run while one is going on', async () => {
    const clock = new FakeClock();
    const first = clock.advance(10);

    await expect(clock.advance(10)).rejects.toThrow('already being moved');
    await first;
  });

  it('does not fire a cleared timer, and clearing twice counts once', async () => {
    const clock = new FakeClock();
    let fired = false;
    const timer = clock.setTimeout(() => {
      fired = true;
    }, 5);
    timer.clear();
    timer.clear();

    expect(clock.pendingTimers).toBe(0);
    await clock.advance(10);
    expect(fired).toBe(false);
  });

  it('stays small when a watchdog is re-armed a hundred thousand times', async () => {
    const clock = new FakeClock();
    let watchdog = clock.setTimeout(() => {}, 30_000);
    for (let i = 0; i < 100_000; i += 1) {
      watchdog.clear();
      watchdog = clock.setTimeout(() => {}, 30_000);
    }
    expect(clock.pendingTimers).toBe(1);
    watchdog.clear();
    await clock.advance(30_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('runs until a condition holds and stops right there', async () => {
    const clock = new FakeClock();
    let count = 0;
    const tick = () => {
      count += 1;
      clock.setTimeout(tick, 20);
    };
    clock.setTimeout(tick, 20);

    const held = await clock.run(() => count === 7, { limitMs: 10_000 });

    expect(held).toBe(true);
    expect(clock.now()).toBe(140);
  });

  it('says when a condition was not met within the limit, or can no longer be met', async () => {
    const clock = new FakeClock();
    const tick = () => clock.setTimeout(tick, 20);
    const timer = clock.setTimeout(tick, 20);

    expect(await clock.run(() => false, { limitMs: 1000 })).toBe(false);
    expect(clock.now()).toBe(1000);
    timer.clear();

    const empty = new FakeClock();
    expect(await empty.run(() => false, { limitMs: 1000 })).toBe(false);
    expect(empty.now()).toBe(0);
    await expect(empty.waitFor('the moon', () => false)).rejects.toThrow('Waited for the moon');
  });

  it('runs until nothing is left', async () => {
    const clock = new FakeClock();
    const done: boolean[] = [];
    void delay(clock, 500).then((full) => done.push(full));

    expect(await clock.runUntilIdle()).toBe(true);

    expect(done).toEqual([true]);
    expect(clock.now()).toBe(500);
  });

  it('drives a promise that waits on the clock, and passes its rejection on', async () => {
    const clock = new FakeClock();
    const answer = (async () => {
      await delay(clock, 250);
      return 42;
    })();
    expect(await clock.drive(answer)).toBe(42);

    const failure = (async () => {
      await delay(clock, 250);
      throw new Error('late');
    })();
    await expect(clock.drive(failure)).rejects.toThrow('late');
  });

  it('plays sixty seconds of 20 ms ticks on three timers in well under a second', async () => {
    const clock = new FakeClock();
    let ticks = 0;
    for (let lane = 0; lane < 3; lane += 1) {
      const tick = () => {
        ticks += 1;
        clock.setTimeout(tick, 20);
      };
      clock.setTimeout(tick, 20);
    }
    const startedAt = performance.now();

    await clock.advance(60_000);

    expect(ticks).toBe(9000);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
