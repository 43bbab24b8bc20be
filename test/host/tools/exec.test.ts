import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, realClock } from '../../../src/clock.ts';
import { toolResultText } from '../../../src/gateway/index.ts';
import { MAX_EXEC_CHARS } from '../../../src/host/tools/exec.ts';
import type { ExecToolConfig } from '../../../src/host/tools/index.ts';
import { makeWorkspace, type TestWorkspace } from './workspace.ts';

let workspace: TestWorkspace;

function setUp(exec: ExecToolConfig = {}, clock: Clock = realClock): void {
  workspace?.remove();
  workspace = makeWorkspace({
    exec: { enable: true, ...exec },
    clock,
  });
}

beforeEach(() => setUp());
afterEach(() => workspace.remove());

const run = (command: string, args = {}, options = {}) =>
  workspace.text('exec', { command, ...args }, options);

/** A clock whose timers fire when the test says so. */
function manualClock() {
  const timers: { callback: () => void; delayMs: number }[] = [];
  const clock: Clock = {
    ...realClock,
    setTimeout: (callback, delayMs) => {
      timers.push({ callback, delayMs });
      return { clear: () => {} };
    },
  };
  return { clock, timers };
}

async function fileContent(path: string): Promise<string> {
  await vi.waitUntil(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'), {
    timeout: 10_000,
  });
  return readFileSync(path, 'utf8').trim();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A killed process that nobody has reaped yet still has its number.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('exec', () => {
  it('is off unless it is switched on', () => {
    const plain = makeWorkspace();
    expect(plain.registry.has('exec')).toBe(false);
    plain.remove();
  });

  it('runs in the workspace and tells output, errors and exit code', async () => {
    expect(await run('pwd')).toBe(`${workspace.root}\n\n\nExit code: 0`);
    expect(await run('echo out; echo err >&2; exit 3')).toBe('out\n\nSTDERR:\nerr\n\n\nExit code: 3');
    workspace.write('sub/x.txt', '');
    expect(await run('ls', { working_dir: 'sub' })).toContain('x.txt');
  });

  it('hands over next to nothing of our environment', async () => {
    process.env.NANOBOT_TEST_KEY = 'a-key';
    process.env.NANOBOT_TEST_OTHER = 'another';
    setUp({ allowedEnvKeys: ['NANOBOT_TEST_OTHER'] });

    const names = (await run('env'))
      .split('\n')
      .map((line) => line.split('=')[0])
      .filter((name) => /^[A-Z_]+$/.test(name ?? ''));

    delete process.env.NANOBOT_TEST_KEY;
    delete process.env.NANOBOT_TEST_OTHER;
    // The shell itself adds the last two or three.
    expect(new Set([...names, 'OLDPWD', 'SHLVL', '_'])).toEqual(
      new Set(['HOME', 'LANG', 'TERM', 'PATH', 'NANOBOT_TEST_OTHER', 'PWD', 'OLDPWD', 'SHLVL', '_']),
    );
    expect(await run('echo $HOME')).toContain(workspace.root);
  });

  it('cuts long output in the middle', async () => {
    const text = await run('head -c 100000 < big.txt; echo the end', {}, {});
    expect(text).toContain('Exit code');
    workspace.write('big.txt', 'x'.repeat(100_000));

    const long = await run('cat big.txt; echo the end');

    expect(long.length).toBeLessThan(MAX_EXEC_CHARS + 200);
    expect(long).toMatch(/\(\d[\d,]* chars truncated\)/);
    expect(long).toContain('the end');
  });
});

describe('the end of a command', () => {
  it('comes after its time, with everything it started', async () => {
    const { clock, timers } = manualClock();
    setUp({}, clock);
    const running = workspace.call('exec', { command: 'sleep 1000 & echo $! > child; wait', timeout: 7 });
    const child = Number(await fileContent(join(workspace.root, 'child')));
    expect(isAlive(child)).toBe(true);

    expect(timers[0]?.delayMs).toBe(7000);
    timers[0]?.callback();

    expect(toolResultText(await running)).toMatch(/^Error: Command timed out after 7 seconds\n/);
    await vi.waitUntil(() => !isAlive(child), { timeout: 5000 });
  });

  it('comes when the call is cancelled, with everything it started', async () => {
    const controller = new AbortController();
    const running = workspace.call(
      'exec',
      { command: 'sleep 1000 & echo $! > child; wait' },
      { signal: controller.signal },
    );
    const child = Number(await fileContent(join(workspace.root, 'child')));

    controller.abort();

    expect((await running).isError).toBe(true);
    await vi.waitUntil(() => !isAlive(child), { timeout: 5000 });
  });

  it('takes along what it left in the background', async () => {
    expect(await run('sleep 1000 & echo $!')).toMatch(/^\d+\n\n\nExit code: 0$/);
    const child = Number((await run('sleep 1000 & echo $!')).split('\n')[0]);

    await vi.waitUntil(() => !isAlive(child), { timeout: 5000 });
  });

  it('is at most the cap away, whatever the config says', async () => {
    const { clock, timers } = manualClock();
    setUp({ timeoutS: 100_000 }, clock);

    await run('true');

    expect(timers[0]?.delayMs).toBe(600_000);
    expect(await run('true', { timeout: 601 })).toContain('timeout must be <= 600');
  });
});

describe('exec and loopback', () => {
  it('is for the channel websocket alone, unrestricted, and only when the config says so', async () => {
    // Only a word: nothing is connected to.
    const command = 'echo http://127.0.0.1:3000/';
    const allowed = async (options: object) => (await run(command, {}, options)).startsWith('http');

    expect(await allowed({ restrict: false, sourceChannel: 'websocket' })).toBe(false);
    setUp({ allowLocalServices: true });
    expect(await allowed({ restrict: false, sourceChannel: 'websocket' })).toBe(true);
    expect(await allowed({ restrict: true, sourceChannel: 'websocket' })).toBe(false);
    expect(await allowed({ restrict: false, sourceChannel: 'realtime' })).toBe(false);
    expect(await allowed({ restrict: false, sourceChannel: null })).toBe(false);
  });

  it('does not run what the guard refuses', async () => {
    expect(await run('touch made; cat ../x')).toContain('path traversal detected');
    expect(existsSync(join(workspace.root, 'made'))).toBe(false);
  });
});
