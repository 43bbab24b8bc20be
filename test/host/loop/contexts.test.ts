import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  currentFileStates,
  currentRequestContext,
  currentWorkspaceScope,
} from '../../../src/gateway/index.ts';
import type { ToolCallOptions } from '../../../src/host/index.ts';
import { createLoop } from './harness.ts';

const bound = () => ({
  request: currentRequestContext(),
  files: currentFileStates(),
  scope: currentWorkspaceScope(),
});

/** A tool that looks at its contexts again and again while others run, and may end badly. */
const looker = (work: (args: Record<string, unknown>, options: ToolCallOptions) => Promise<string>) => ({
  name: 'look',
  description: '',
  parameters: { type: 'object', properties: { turns: { type: 'integer' }, end: { type: 'string' } } },
  readOnly: true,
  execute: work,
});

describe('the contexts of tool calls', () => {
  it('never leak between 1,000 interleaved calls in different sessions, however each ends', async () => {
    const { loop, registry } = createLoop();
    const filesOf = new Map<string, unknown>();
    let inFlight = 0;
    let mostInFlight = 0;
    registry.register(
      looker(async (args) => {
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        const first = bound();
        for (let turn = 0; turn < Number(args.turns); turn += 1) {
          await (turn % 2 === 0 ? nextTick() : Promise.resolve());
          expect(bound()).toEqual(first);
          expect(bound().files).toBe(first.files);
        }
        inFlight -= 1;
        const key = first.request?.sessionKey ?? '';
        filesOf.set(key, filesOf.get(key) ?? first.files);
        expect(filesOf.get(key)).toBe(first.files);
        if (args.end === 'throw') throw new Error(key);
        return `${key} ${first.request?.chatId} ${first.request?.channel} ${first.scope?.sourceChannel}`;
      }),
    );

    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, index) => {
        const stop = new AbortController();
        if (index % 10 === 3) setImmediate(() => stop.abort());
        return loop.executeTool(
          `realtime:${index % 250}`,
          'look',
          { turns: (index % 17) + 1, end: index % 7 === 0 ? 'throw' : 'well' },
          { channel: 'realtime', chatId: `chat-${index}`, signal: stop.signal },
        );
      }),
    );

    for (const [index, result] of results.entries()) {
      const key = `realtime:${index % 250}`;
      if (index % 10 === 3) continue; // cancelled somewhere on the way
      const text = index % 7 === 0 ? `Error executing look: ${key}` : `${key} chat-${index} realtime null`;
      expect(String(result.content).split('\n')[0]).toBe(text);
    }
    expect(mostInFlight).toBeGreaterThan(500);
    expect(bound()).toEqual({ request: null, files: null, scope: null });
    expect(loop.activeSessions).toBe(0);
  });

  it('are gone for work that a call left running', async () => {
    const { loop, registry } = createLoop();
    const later = Promise.withResolvers<ReturnType<typeof bound>>();
    const finished = Promise.withResolvers<void>();
    registry.register(
      looker(async () => {
        void finished.promise.then(() => later.resolve(bound()));
        return 'done';
      }),
    );

    await loop.executeTool('realtime:a', 'look', {}, { channel: 'realtime' });
    finished.resolve();

    expect(await later.promise).toEqual({ request: null, files: null, scope: null });
  });

  it('name the source channel for websocket alone', async () => {
    const { loop, registry } = createLoop();
    registry.register(looker(async () => JSON.stringify(bound().scope?.sourceChannel)));
    const ask = async (channel: string) =>
      (await loop.executeTool(`${channel}:a`, 'look', {}, { channel })).content;

    expect([await ask('websocket'), await ask('realtime'), await ask('telegram')]).toEqual([
      '"websocket"',
      'null',
      'null',
    ]);
  });

  it('hold the session key as chat where none is given', async () => {
    const { loop, registry } = createLoop();
    registry.register(looker(async () => JSON.stringify(bound().request)));

    const { content } = await loop.executeTool('realtime:a', 'look', {}, { channel: 'realtime' });

    expect(JSON.parse(String(content))).toEqual({
      channel: 'realtime',
      chatId: 'realtime:a',
      messageId: null,
      sessionKey: 'realtime:a',
      metadata: {},
    });
  });
});
