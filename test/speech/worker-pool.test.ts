import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, realClock } from '../../src/clock.ts';
import { MAX_QUEUED_JOBS, MAX_WORKER_DEATHS } from '../../src/speech/index.ts';
import { WorkerPool } from '../../src/speech/worker-pool.ts';

const pools: WorkerPool<string, string>[] = [];

function pool(options: { clock?: Clock } = {}): WorkerPool<string, string> {
  const url = new URL('./pool-worker.ts', import.meta.url);
  const made = new WorkerPool<string, string>({ name: 'tester', url, workerData: null, size: 1, ...options });
  pools.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((each) => each.close()));
});

describe('a pool of workers', () => {
  it('does one job after another, in order', async () => {
    const work = pool();
    expect(await Promise.all(['a', 'b', 'c'].map((each) => work.run(each)))).toEqual(['a 1', 'b 2', 'c 3']);
  });

  it('hands on the code that the worker answers with', async () => {
    await expect(pool().run('fail')).rejects.toMatchObject({
      code: 'PHRASE_INVALID',
      message: 'told to fail',
    });
  });

  it.each(['die', 'throw'])('fails the job that a worker dies of (%s), and does the next', async (death) => {
    const work = pool();
    const doomed = work.run(death);
    const next = work.run('a');
    await expect(doomed).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    expect(await next).toBe('a 1');
  });

  it('gives up after too many deaths in a row, and fails what waits', async () => {
    const work = pool();
    const jobs = Array.from({ length: MAX_WORKER_DEATHS }, () => work.run('die'));
    const waiting = work.run('a');
    for (const job of [...jobs, waiting]) await expect(job).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    await expect(work.run('b')).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
  });

  it('counts deaths anew after a job that went well', async () => {
    const work = pool();
    for (let round = 0; round < MAX_WORKER_DEATHS; round++) {
      await expect(work.run('die')).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
      expect(await work.run('a')).toBe('a 1');
    }
  });

  it('ends a worker that hangs, and goes on with another', async () => {
    const deadlines: (() => void)[] = [];
    const clock: Clock = {
      ...realClock,
      setTimeout: (callback) => {
        deadlines.push(callback);
        return { clear: () => {} };
      },
    };
    const work = pool({ clock });
    const hung = work.run('hang');
    deadlines[0]?.();
    await expect(hung).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    expect(await work.run('a')).toBe('a 1');
  });

  it('refuses one job more than may wait', async () => {
    const work = pool();
    const jobs = Array.from({ length: MAX_QUEUED_JOBS + 1 }, (_, i) => work.run(String(i)));
    await expect(work.run('too many')).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
    expect(await Promise.all(jobs)).toHaveLength(MAX_QUEUED_JOBS + 1);
  });

  it('takes an aborted job out of the queue', async () => {
    const work = pool();
    const abort = new AbortController();
    const first = work.run('a');
    const aborted = work.run('b', { signal: abort.signal });
    abort.abort(new Error('not wanted'));
    await expect(aborted).rejects.toThrow('not wanted');
    expect([await first, await work.run('c')]).toEqual(['a 1', 'c 2']);
  });

  it('fails what runs and what waits when it is closed, and takes no more', async () => {
    const work = pool();
    const jobs = [work.run('hang'), work.run('a')];
    const settled = Promise.allSettled(jobs);
    await work.close();
    expect((await settled).map((each) => each.status)).toEqual(['rejected', 'rejected']);
    await expect(work.run('b')).rejects.toMatchObject({ code: 'SPEECH_FAILED' });
  });
});
