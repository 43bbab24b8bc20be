import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createToolGatewayFacade } from '../../../src/gateway/index.ts';
import { ERROR_HINT } from '../../../src/host/index.ts';
import { MAX_TOOL_RESULT_CHARS } from '../../../src/host/loop/index.ts';
import { silentLogger } from '../../../src/observe/index.ts';
import { calls, createLoop, says } from './harness.ts';

/** Calls as a model emits them; the error ones are as many as the good ones, for errors differ most easily. */
const CALLS: [name: string, args: string][] = [
  ['list_dir', '{"path":"."}'],
  ['read_file', '{"path":"a.txt"}'],
  ['read_file', '{"path":"a.txt"}'], // unchanged since the last read: the file state of the session
  ['read_file', '{"path":"a.txt","limit":"1"}'],
  ['read_file', '{"arguments":"{\\"path\\":\\"a.txt\\",\\"offset\\":2}"}'],
  ['read_file', '{"path":5}'],
  ['read_file', '{"path":"empty.txt"}'],
  ['read_file', '{"path":"long.txt"}'],
  ['read_file', '{"path":"dot.png"}'],
  ['edit_file', '{"path":"b.txt","old_text":"beta","new_text":"gamma"}'], // not read before: a warning
  ['edit_file', '{"path":"a.txt","old_text":"nowhere","new_text":"x"}'],
  ['write_file', '{"path":"new/c.txt","content":"sea"}'],
  ['read_file', '{"path":"new/c.txt"}'],
  ['find_files', '{"pattern":"*.txt"}'],
  ['find_files', '{"query":"txt"}'],
  ['grep', '{"pattern":"alpha"}'],
  ['grep', '{"pattern":"("}'],
  ['exec', '{"command":"cat a.txt"}'],
  ['exec', '{"command":"rm -rf ./nothing-here"}'],
  ['exec', '{"command":"cat ../../etc/passwd"}'],
  ['exec', '{"command":"exit 3"}'],
  ['web_fetch', '{"url":"http://127.0.0.1:1/"}'],
  ['web_fetch', '{"url":"http://169.254.169.254/latest"}'],
  ['web_fetch', '{"url":"file:///etc/passwd"}'],
  ['read_file', ''],
  ['read_file', 'null'],
  ['read_file', '[1]'],
  ['read_file', 'not json'],
  ['read_file', '{"path":"a.txt","limit":"abc"}'],
  ['read_file', '{"path":"a.txt","bogus":1}'],
  ['read_file', '{"path":"../../etc/passwd"}'],
  ['read_file', '{"path":"/etc/passwd"}'],
  ['read_file', '{"path":"~/x"}'],
  ['read_file', '{"path":"link"}'],
  ['read_file', '{"path":"gone.txt"}'],
  ['Read_File', '{"path":"a.txt"}'],
  ['nobody', '{}'],
  ['send_message', '{"content":"psst","channel":"other","chat_id":"x"}'],
  ['list_dir', '{"path":"a.txt"}'],
];

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

function world(
  replies: Parameters<typeof createLoop>[0] = [],
  approvals?: NonNullable<Parameters<typeof createLoop>[1]>['approvals'],
) {
  const made = createLoop(replies, {
    ...(approvals !== undefined && { approvals }),
    maxIterations: CALLS.length + 1,
    files: {
      'a.txt': 'alpha\nbravo\n',
      'b.txt': 'beta\n',
      'empty.txt': '',
      'long.txt': 'line of text\n'.repeat(9000),
    },
  });
  symlinkSync('/etc/passwd', join(made.workspace, 'link'));
  writeFileSync(join(made.workspace, 'dot.png'), PNG);
  /** The one thing that has to differ between two worlds is where they are. */
  const neutral = (value: unknown) => JSON.stringify(value).replaceAll(made.home, '<home>');
  return { ...made, neutral };
}

describe('one call through the gateway and the same call in a text turn', () => {
  it(`give the same bytes, for ${CALLS.length} calls, errors included`, async () => {
    const turn = world([...CALLS.map((call) => calls(call)), says('done')]);
    const byGateway = world();
    const facade = createToolGatewayFacade(byGateway.loop, { channel: 'telegram' });

    turn.loop.start();
    turn.write('do it all');
    let answer = await turn.bus.consumeOutbound();
    while (answer?.content !== 'done') answer = await turn.bus.consumeOutbound();
    const last = turn.model?.asked.at(-1) ?? [];
    const inTurn = last.flatMap((message) =>
      message.role === 'tool' ? [turn.neutral(message.content)] : [],
    );

    const throughGateway: string[] = [];
    const errors: boolean[] = [];
    for (const [name, args] of CALLS) {
      const result = await facade.executeTool('telegram:c1', name, args, {
        channel: 'telegram',
        chatId: 'c1',
      });
      throughGateway.push(byGateway.neutral(result.content));
      errors.push(result.isError);
    }

    expect(inTurn).toHaveLength(CALLS.length);
    for (const [index, [name, args]] of CALLS.entries()) {
      expect(throughGateway[index], `${name} ${args}`).toBe(inTurn[index]);
    }
    // The table is worth its name: results and refusals, text and pictures.
    expect(errors.filter(Boolean).length).toBeGreaterThan(15);
    expect(errors.filter((isError) => !isError).length).toBeGreaterThan(12);
    expect(new Set(inTurn).size).toBeGreaterThan(25);
    expect(inTurn[2]).toContain('File unchanged');
    expect(inTurn[8]).toContain('image_url');
    expect(inTurn[9]).toContain('has not been read yet');
    expect(inTurn[30]).toContain('is outside allowed directory');
    expect(inTurn[31]).toContain(JSON.stringify(ERROR_HINT).slice(1, -1));
  });

  it('see the same tools in the same order', async () => {
    const turn = world([says('done')]);
    await turn.ask('hello');

    const facade = createToolGatewayFacade(turn.loop, { channel: 'telegram' });

    expect(facade.getToolDefinitions().map((each) => each.function.name)).toEqual(turn.model?.tools[0]);
    expect(facade.getToolDefinitions()).toEqual(turn.registry.getDefinitions());
  });

  it('share what the session has read: a file read on the phone is known in the chat', async () => {
    const { loop, ask, model } = world([calls(['read_file', '{"path":"a.txt"}']), says('done')]);
    await loop.executeTool('telegram:c1', 'read_file', { path: 'a.txt' }, { channel: 'telegram' });

    await ask('read a.txt');

    expect(model?.asked[1]?.at(-1)).toMatchObject({
      role: 'tool',
      content: '[File unchanged since last read: a.txt]',
    });
  });
});

describe('what every result is, whoever called', () => {
  const tool = (output: string) => ({
    name: 'probe',
    description: '',
    parameters: { type: 'object' },
    execute: async () => output,
  });

  it.each([[''], [' \n ']])('never empty: %j is said to be no output', async (output) => {
    const { loop, registry } = world();
    registry.register(tool(output));

    const result = await loop.executeTool('k:c', 'probe', {}, { channel: 'k' });

    expect(result).toEqual({ content: '(tool completed with no output)', isError: false });
  });

  it('never longer than its bound, cut between characters, and it says so', async () => {
    const { loop, registry } = world();
    registry.register(tool(`${'x'.repeat(MAX_TOOL_RESULT_CHARS - 1)}🎈🎈`));

    const { content } = await loop.executeTool('k:c', 'probe', {}, { channel: 'k' });

    expect(content).toBe(`${'x'.repeat(MAX_TOOL_RESULT_CHARS - 1)}\n\n[… 3 characters cut off]`);
  });
});

describe('a host whose config has no gate, and one whose gate names other tools', () => {
  /** Everything that leaves the loop: what the model is asked, what the chat reads, what the session keeps. */
  const bytes = async (made: ReturnType<typeof world>) => {
    made.loop.start();
    made.write('do it all');
    const said: unknown[] = [];
    do said.push(await made.bus.consumeOutbound());
    while ((said.at(-1) as { content: string }).content !== 'done');
    await made.loop.stop();
    const { rows } = await made.sessions.get('telegram:c1');
    const timeless = rows.map(({ timestamp: _, ...row }) => row);
    const asked = made.model?.asked.map((messages) => messages.filter(({ role }) => role !== 'system'));
    return made.neutral({ said, rows: timeless, asked, tools: made.model?.tools });
  };
  const replies = () => [...CALLS.map((call) => calls(call)), says('done')];

  it('give the same bytes as a host that never heard of gates', { timeout: 30_000 }, async () => {
    const { createApprovals } = await import('../../../src/approval/index.ts');
    const { approvalsSchema } = await import('../../../src/config-approvals.ts');
    const { rig } = await import('../../approval/rig.ts');
    const { MemoryApprovalStore } = await import('../../approval/memory-store.ts');
    const store = new MemoryApprovalStore();
    const gated = await rig({ toolGate: { requireApproval: ['delete_*'], deny: ['rm_*'] }, store });
    const before = store.operations;

    const plain = await bytes(world(replies()));
    const withoutConfig = createApprovals({
      config: approvalsSchema.parse({ toolGate: {} }),
      store,
      clock: gated.clock,
      logger: silentLogger,
      dataDirectory: null,
      locale: 'en-us',
      toolTimeoutMs: 1,
      executor: 'x',
    });

    expect(withoutConfig).toBeNull();
    expect((await bytes(world(replies(), withoutConfig))) === plain).toBe(true);
    expect((await bytes(world(replies(), gated.system))) === plain).toBe(true);
    expect(store.operations).toBe(before);
    expect(plain.length).toBeGreaterThan(10_000);
  });
});
