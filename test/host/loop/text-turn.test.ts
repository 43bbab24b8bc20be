import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { VoiceError } from '../../../src/errors.ts';
import type { ChatMessage } from '../../../src/host/chat/index.ts';
import { MAX_HISTORY_ROWS } from '../../../src/host/loop/history.ts';
import { MAX_PENDING_TURNS, readPersona } from '../../../src/host/loop/index.ts';
import { MAX_PERSONA_FILE_BYTES } from '../../../src/host/loop/persona.ts';
import { calls, createLoop, says } from './harness.ts';

const outline = async (sessions: ReturnType<typeof createLoop>['sessions'], key = 'telegram:c1') =>
  (await sessions.get(key)).rows.map((row) =>
    row.role === 'assistant' && row.tool_calls
      ? `calls ${row.tool_calls.map((call) => call.function.name).join(',')}`
      : `${row.role} ${row.content}`,
  );

describe('a text turn', () => {
  it('answers to where the message came from, and echoes its metadata', async () => {
    const { ask } = createLoop([says('Hello!')]);

    expect(await ask('hi')).toEqual({
      channel: 'telegram',
      chatId: 'c1',
      content: 'Hello!',
      media: [],
      metadata: { message_id: 7 },
    });
  });

  it('runs the tools the model asks for, round after round, and tells it the results', async () => {
    const { ask, model, sessions } = createLoop(
      [
        calls(['list_dir', '{"path":"."}'], ['read_file', '{"path":"a.txt"}']),
        calls(['nobody', '{}']),
        says('Done.'),
      ],
      { files: { 'a.txt': 'alpha' } },
    );

    const answer = await ask('look around');

    expect(answer?.content).toBe('Done.');
    const last = model?.asked[2] ?? [];
    expect(last.slice(1).map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(last[3]).toMatchObject({
      role: 'tool',
      tool_call_id: 'call-0',
      content: expect.stringContaining('a.txt'),
    });
    expect(last[4]).toMatchObject({
      role: 'tool',
      tool_call_id: 'call-1',
      content: expect.stringContaining('alpha'),
    });
    await vi.waitFor(async () =>
      expect(await outline(sessions)).toEqual([
        'user look around',
        'calls list_dir,read_file',
        expect.stringMatching(/^tool .*a\.txt/s),
        expect.stringMatching(/^tool .*alpha/s),
        'calls nobody',
        expect.stringMatching(/^tool Error: Tool 'nobody' not found/),
        'assistant Done.',
      ]),
    );
  });

  it('knows what was said before in the session, and nothing of other sessions', async () => {
    const { ask, model } = createLoop([says('one'), says('other'), says('two')]);
    await ask('first');
    await ask('elsewhere', 'c2');

    await ask('second');

    expect(model?.asked[2]?.slice(1)).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'second' },
    ]);
  });

  it('shares one session over all chats where the config says so', async () => {
    const { ask, model } = createLoop([says('one'), says('two')], { unifiedSession: true });
    await ask('first', 'c1');

    await ask('second', 'c2');

    expect(model?.asked[1]?.slice(1)).toHaveLength(3);
  });

  it('knows what was spoken on a call, tools and all, and never shows half a tool call', async () => {
    const { ask, model, sessions } = createLoop([says('ok')]);
    const call = (id: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'x', arguments: '{}' },
    });
    await sessions.append('telegram:c1', [
      { role: 'tool', tool_call_id: 'lost', name: 'x', content: 'a result without its call' },
      { role: 'user', content: 'spoken', source: 'voice' },
      { role: 'assistant', content: null, tool_calls: [call('t1'), call('unanswered')] },
      { role: 'tool', tool_call_id: 't1', name: 'x', content: 'r1' },
      { role: 'tool', tool_call_id: 't9', name: 'x', content: 'not asked for' },
      { role: 'assistant', content: 'heard', source: 'voice' },
      { role: 'assistant', content: null, tool_calls: [call('t2')] },
      { role: 'user', content: [{ type: 'text', text: 'in parts' }] },
    ]);

    await ask('written');

    expect(model?.asked[0]?.slice(1)).toEqual([
      { role: 'user', content: 'spoken' },
      { role: 'assistant', content: null, tool_calls: [call('t1')] },
      { role: 'tool', tool_call_id: 't1', content: 'r1' },
      { role: 'assistant', content: 'heard' },
      { role: 'user', content: 'in parts' },
      { role: 'user', content: 'written' },
    ]);
  });

  it('is shown a bounded part of a long past, from the beginning of a turn on', async () => {
    const { ask, model, sessions } = createLoop([says('ok'), says('ok')]);
    const pairs = Array.from({ length: MAX_HISTORY_ROWS }, (_, index) => [
      { role: 'user' as const, content: `u${index}` },
      { role: 'assistant' as const, content: `a${index}` },
      { role: 'assistant' as const, content: `b${index}` },
    ]);
    await sessions.append('telegram:c1', pairs.flat());
    await sessions.append('telegram:c2', [{ role: 'user', content: 'x'.repeat(200_000) }]);

    await ask('now');
    await ask('now', 'c2');

    const shown = model?.asked[0] ?? [];
    expect(shown).toHaveLength(MAX_HISTORY_ROWS + 2);
    expect(shown[1]).toEqual({ role: 'user', content: 'u80' });
    expect(model?.asked[1]).toHaveLength(2);
  });

  it('ends after the rounds of tools that the config allows', async () => {
    const again = () => calls(['list_dir', '{"path":"."}']);
    const { ask, model } = createLoop([again(), again(), again()], { maxIterations: 2 });

    const answer = await ask('loop');

    expect(answer?.content).toContain('2 rounds of tool calls');
    expect(model?.asked).toHaveLength(2);
  });

  it('that fails says so in plain words, and the next one works', async () => {
    const { ask, sessions } = createLoop([
      new VoiceError('MODEL_AUTH_FAILED', 'The language model refused our key (HTTP 401).'),
      new Error('secret details'),
      says('back'),
    ]);

    expect((await ask('one'))?.content).toBe('Error: The language model refused our key (HTTP 401).');
    expect((await ask('two'))?.content).toBe('Error: something went wrong here.');
    expect((await ask('three'))?.content).toBe('back');
    await vi.waitFor(async () =>
      expect(await outline(sessions)).toEqual(['user one', 'user two', 'user three', 'assistant back']),
    );
  });

  it('says what to do when nobody answers text', async () => {
    const { ask, home } = createLoop(null);

    expect((await ask('hi'))?.content).toContain('agents.defaults.model');
    expect(readdirSync(home)).toEqual(['workspace']);
  });

  it('waits for the one before in its session, and for no other session', async () => {
    const gate = Promise.withResolvers<void>();
    const echo = async (_: AbortSignal, messages: readonly ChatMessage[]) => {
      const said = String(messages.at(-1)?.content);
      if (said === 'slow') await gate.promise;
      return says(said);
    };
    const { loop, write, bus, model } = createLoop([echo, echo, echo]);
    loop.start();
    write('slow', 'c1');
    write('after', 'c1');
    write('quick', 'c2');

    const first = await bus.consumeOutbound();
    expect(first).toMatchObject({ chatId: 'c2', content: 'quick' });
    await vi.waitFor(() => expect(model?.asked).toHaveLength(2));
    gate.resolve();

    const rest = [await bus.consumeOutbound(), await bus.consumeOutbound()];
    expect(rest.map((message) => message?.content)).toEqual(['slow', 'after']);
  });

  it('ends at /stop, with all that waits in its session, and keeps what was done', async () => {
    const hang = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const { loop, write, bus, model, sessions } = createLoop([
      calls(['list_dir', '{"path":"."}']),
      hang,
      says('fresh'),
    ]);
    loop.start();
    write('long work');
    write('never begun');
    await vi.waitFor(() => expect(model?.asked).toHaveLength(2));

    write(' /stop ');
    const stopped = await bus.consumeOutbound();
    await vi.waitFor(() => expect(loop.activeSessions).toBe(0));
    write('/stop');
    const nothing = await bus.consumeOutbound();
    write('again');
    const fresh = await bus.consumeOutbound();

    expect([stopped?.content, nothing?.content, fresh?.content]).toEqual([
      'Stopped.',
      'There is nothing to stop.',
      'fresh',
    ]);
    await vi.waitFor(async () =>
      expect((await outline(sessions)).map((row) => row.split('\n')[0]?.slice(0, 15))).toEqual([
        'user long work',
        'calls list_dir',
        expect.stringMatching(/^tool /),
        'user again',
        'assistant fresh',
      ]),
    );
  });

  it('is refused in words when too many wait', async () => {
    const gate = Promise.withResolvers<void>();
    const { loop, write, bus } = createLoop(
      Array.from({ length: MAX_PENDING_TURNS + 1 }, () => () => gate.promise.then(() => says('done'))),
    );
    loop.start();
    for (let index = 0; index <= MAX_PENDING_TURNS; index += 1) write('x', `c${index}`);

    const refused = await bus.consumeOutbound();

    expect(refused).toMatchObject({ chatId: `c${MAX_PENDING_TURNS}` });
    expect(refused?.content).toContain('too many messages');
    gate.resolve();
    await loop.stop();
  });

  it('is not begun for a message that claims to come from websocket', async () => {
    const { loop, write, bus, model } = createLoop([says('ok')]);
    loop.start();

    write('let me in', 'c1', 'websocket');
    write('hello', 'c2');

    expect(await bus.consumeOutbound()).toMatchObject({ chatId: 'c2' });
    expect(model?.asked).toHaveLength(1);
  });

  it('ends when the host stops, and no message is taken after that', async () => {
    const hang = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const { loop, write, bus, model } = createLoop([hang]);
    loop.start();
    write('x');
    await vi.waitFor(() => expect(model?.asked).toHaveLength(1));

    await loop.stop();
    await loop.stop();
    write('late');

    expect(loop.activeSessions).toBe(0);
    expect(bus.inboundSize).toBe(1);
    expect(bus.outboundSize).toBe(0);
  });
});

describe('the persona of the agent', () => {
  it('is told to the model from the files of the workspace, in their order', async () => {
    const { ask, model } = createLoop([says('ok')], {
      files: { 'SOUL.md': 'You are kind.', 'AGENTS.md': 'Be brief.', 'USER.md': '  ', 'OTHER.md': 'no' },
    });

    await ask('hi');

    const system = String(model?.asked[0]?.[0]?.content);
    expect(system).toMatch(/## AGENTS\.md\n\nBe brief\.\n\n## SOUL\.md\n\nYou are kind\.$/);
    expect(system).not.toContain('USER.md');
  });

  it('is read up to a bound per file', async () => {
    const { workspace } = createLoop(null, { files: { 'SOUL.md': 'x'.repeat(MAX_PERSONA_FILE_BYTES + 9) } });

    expect(await readPersona(workspace)).toBe(`## SOUL.md\n\n${'x'.repeat(MAX_PERSONA_FILE_BYTES)}`);
  });

  it('never follows a link out of the workspace', async () => {
    const { workspace } = createLoop();
    symlinkSync('/etc/hostname', join(workspace, 'SOUL.md'));

    expect(await readPersona(workspace)).toBe('');
  });
});
