import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Tool } from '../../../src/host/index.ts';
import { MAX_WAITING_TOOL_CALLS } from '../../../src/host/loop/tool-lock.ts';
import { createLoop } from './harness.ts';

/** Tools that run until they are told to end, with a record of who ran beside whom. */
function staged(registry: { register(tool: Tool): void }) {
  const running = new Set<string>();
  const seen: string[] = [];
  const ends = new Map<string, () => void>();
  const make = (name: string, readOnly: boolean): Tool => ({
    name,
    description: '',
    parameters: { type: 'object', properties: { id: { type: 'string' } } },
    readOnly,
    async execute(args) {
      const id = String(args.id);
      running.add(id);
      seen.push([...running].sort().join('+'));
      await new Promise<void>((resolve) => ends.set(id, resolve));
      running.delete(id);
      return id;
    },
  });
  registry.register(make('look', true));
  registry.register(make('change', false));
  return { seen, end: (id: string) => ends.get(id)?.(), isRunning: (id: string) => running.has(id) };
}

const settle = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function world() {
  const made = createLoop();
  // Read beforehand: the order of calls must not hang on how fast a disk is.
  await Promise.all([made.sessions.get('k:a'), made.sessions.get('k:b')]);
  const stage = staged(made.registry);
  const call = (name: string, id: string, session = 'k:a', signal?: AbortSignal) =>
    made.loop.executeTool(session, name, { id }, { channel: 'k', ...(signal && { signal }) });
  return { ...made, ...stage, call };
}

describe('tool calls of one session', () => {
  it('that only look run together; one that changes something waits for them and keeps later ones waiting', async () => {
    const { call, end, seen, loop } = await world();
    const all = [
      call('look', 'a'),
      call('look', 'b'),
      call('change', 'c'),
      call('look', 'd'),
      call('change', 'e'),
    ];
    await settle();
    expect(seen).toEqual(['a', 'a+b']);

    for (const id of ['b', 'a', 'c', 'd', 'e']) {
      end(id);
      await settle();
    }

    expect((await Promise.all(all)).map((result) => result.content)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(seen).toEqual(['a', 'a+b', 'c', 'd', 'e']);
    expect(loop.activeSessions).toBe(0);
  });

  it('do not wait for those of another', async () => {
    const { call, end, isRunning } = await world();
    const first = call('change', 'a', 'k:a');
    const second = call('change', 'b', 'k:b');
    await settle();

    expect([isRunning('a'), isRunning('b')]).toEqual([true, true]);
    end('a');
    end('b');
    await Promise.all([first, second]);
  });

  it('that are cancelled while they wait never run, and those behind go on', async () => {
    const { call, end, seen } = await world();
    const stop = new AbortController();
    const first = call('look', 'a');
    const waiting = call('change', 'b', 'k:a', stop.signal);
    const behind = call('look', 'c');
    await settle();

    stop.abort();
    await settle();

    expect(await waiting).toMatchObject({ isError: true, content: expect.stringContaining('cancelled') });
    expect(seen).toEqual(['a', 'a+c']);
    end('a');
    end('c');
    await Promise.all([first, behind]);
  });

  it('wait in a bounded number; one more is an error result', async () => {
    const { call, end, loop } = await world();
    const first = call('change', 'first');
    const waiting = Array.from({ length: MAX_WAITING_TOOL_CALLS }, (_, index) => call('look', `${index}`));
    await settle();

    const over = await call('look', 'over');

    expect(over).toMatchObject({ isError: true, content: expect.stringContaining('too many calls') });
    end('first');
    await settle();
    for (let index = 0; index < MAX_WAITING_TOOL_CALLS; index += 1) end(`${index}`);
    await Promise.all([first, ...waiting]);
    expect(loop.activeSessions).toBe(0);
  });
});

describe("a session's policy", () => {
  const write = (home: string, text: string) => {
    mkdirSync(join(home, 'sessions'), { recursive: true });
    writeFileSync(join(home, 'sessions', `${Buffer.from('k:a').toString('base64url')}.jsonl`), text);
  };

  it('keeps a tool from running that it switches off, and no other', async () => {
    const { loop, home } = createLoop([], { files: { 'a.txt': 'x' } });
    const at = '2026-01-01T00:00:00.000Z';
    const metadata = { policy: { disabled_tools: ['read_file'] } };
    write(home, JSON.stringify({ _type: 'metadata', key: 'k:a', created_at: at, updated_at: at, metadata }));
    const run = (name: string, args: object, key = 'k:a') =>
      loop.executeTool(key, name, args, { channel: 'k' });

    expect(await run('read_file', { path: 'a.txt' })).toMatchObject({
      isError: true,
      content: expect.stringContaining('switched off in this session'),
    });
    expect((await run('list_dir', { path: '.' })).isError).toBe(false);
    expect((await run('read_file', { path: 'a.txt' }, 'k:b')).isError).toBe(false);
  });

  it('that can not be read lets nothing run', async () => {
    const { loop, home } = createLoop([], { files: { 'a.txt': 'x' } });
    mkdirSync(join(home, 'sessions', `${Buffer.from('k:a').toString('base64url')}.jsonl`), {
      recursive: true,
    });

    const result = await loop.executeTool('k:a', 'read_file', { path: 'a.txt' }, { channel: 'k' });

    expect(result).toMatchObject({ isError: true, content: expect.stringContaining('could not be read') });
  });
});
