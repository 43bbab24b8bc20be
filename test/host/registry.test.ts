import { describe, expect, it } from 'vitest';
import { isVoiceError } from '../../src/errors.ts';
import { ERROR_HINT, MAX_TOOLS, ToolRegistry } from '../../src/host/registry.ts';
import type { Tool, ToolOutput } from '../../src/host/registry-tool.ts';

function tool(name: string, execute: Tool['execute'] = async () => 'done', properties = {}): Tool {
  return { name, description: name, parameters: { type: 'object', properties }, execute };
}

function registryOf(...tools: Tool[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  return registry;
}

describe('the definitions of the registry', () => {
  it('are built-ins by name, then MCP tools by name', () => {
    const registry = registryOf(tool('mcp_b_x'), tool('write'), tool('mcp_a_y'), tool('read'));

    expect(registry.getDefinitions().map((each) => each.function.name)).toEqual([
      'read',
      'write',
      'mcp_a_y',
      'mcp_b_x',
    ]);
  });

  it('stay the same object until a tool comes or goes', () => {
    const registry = registryOf(tool('a'));
    const first = registry.getDefinitions();

    expect(registry.getDefinitions()).toBe(first);
    registry.register(tool('b'));
    expect(registry.getDefinitions()).not.toBe(first);
    registry.unregister('b');
    expect(registry.getDefinitions()).toEqual(first);
  });

  it('cannot be changed from outside, and neither can the schema behind them', () => {
    const properties = { path: { type: 'string' } };
    const registry = registryOf(tool('a', async () => '', properties));
    const [definition] = registry.getDefinitions();

    expect(() => registry.getDefinitions().pop()).toThrow(TypeError);
    expect(() => Object.assign(definition!.function.parameters, { type: 'array' })).toThrow(TypeError);
    expect(Object.isFrozen(properties)).toBe(false);
  });

  it(`end at ${MAX_TOOLS} tools, and replacing one of them still works`, () => {
    const registry = registryOf(...Array.from({ length: MAX_TOOLS }, (_, index) => tool(`t${index}`)));

    expect(() => registry.register(tool('one more'))).toThrow(
      expect.toSatisfy((error: unknown) => isVoiceError(error, 'TOOL_LIMIT_REACHED')),
    );
    registry.register(tool('t0'));
    expect(registry.toolNames).toHaveLength(MAX_TOOLS);
  });
});

describe('a call through the registry', () => {
  it('wants the exact name', async () => {
    const registry = registryOf(tool('read_file'));

    for (const name of ['Read_File', 'read_file ', 'READ_FILE', 'toString', '__proto__', 'constructor']) {
      expect(await registry.execute(name, {})).toMatchObject({ isError: true });
    }
    expect(await registry.execute('read_file', {})).toEqual({ content: 'done', isError: false });
  });

  it('suggests nothing when two names are equally near', async () => {
    const registry = registryOf(tool('read_file'), tool('readfile'));

    expect((await registry.execute('ReadFile', {})).content).toBe(
      `Error: Tool 'ReadFile' not found. Available: read_file, readfile${ERROR_HINT}`,
    );
  });

  it('turns what a tool throws into a result', async () => {
    const thrown: unknown[] = [new Error('broken'), 'text', undefined, null, { odd: true }];

    for (const each of thrown) {
      const asynchronous = registryOf(tool('t', async () => Promise.reject(each)));
      const synchronous = registryOf(
        tool('t', () => {
          throw each;
        }),
      );
      const message = each instanceof Error ? each.message : String(each);
      const expected = { content: `Error executing t: ${message}${ERROR_HINT}`, isError: true };
      expect(await asynchronous.execute('t', {})).toEqual(expected);
      expect(await synchronous.execute('t', {})).toEqual(expected);
    }
  });

  it('counts a bare text that starts with Error as a failure, and a result as what it says it is', async () => {
    const outputs: [ToolOutput, boolean][] = [
      ['Error: no such thing', true],
      ['Error searching', true],
      ['error in lower case is prose', false],
      [{ content: 'Error.txt', isError: false }, false],
      [{ content: 'refused', isError: true }, true],
      [[{ type: 'text', text: 'Error' }], false],
    ];

    for (const [output, isError] of outputs) {
      const result = await registryOf(tool('t', async () => output)).execute('t', {});
      expect(result.isError).toBe(isError);
      expect(JSON.stringify(result.content).includes('Analyze the error above')).toBe(isError);
    }
  });

  it('gives the hint a block of its own in a failure made of blocks', async () => {
    const content = [{ type: 'text', text: 'broken' }] as const;
    const registry = registryOf(tool('t', async () => ({ content, isError: true })));

    expect(await registry.execute('t', {})).toEqual({
      content: [...content, { type: 'text', text: ERROR_HINT.trimStart() }],
      isError: true,
    });
  });

  it('survives a tool that returns nothing', async () => {
    const broken = tool('t', (async () => undefined) as unknown as Tool['execute']);

    expect(await registryOf(broken).execute('t', {})).toMatchObject({ isError: true });
  });

  it('ends at once when it is cancelled, even if the tool does not', async () => {
    const controller = new AbortController();
    let given: AbortSignal | null = null;
    const registry = registryOf(
      tool('t', (_args, { signal }) => {
        given = signal;
        return new Promise(() => {});
      }),
    );

    const running = registry.execute('t', {}, { signal: controller.signal });
    controller.abort();

    expect(await running).toEqual({
      content: `Error executing t: The call was cancelled.${ERROR_HINT}`,
      isError: true,
    });
    expect(given!).toBe(controller.signal);
  });

  it('does not start when it was cancelled before', async () => {
    let ran = false;
    const registry = registryOf(
      tool('t', async () => {
        ran = true;
        return '';
      }),
    );

    const result = await registry.execute('t', {}, { signal: AbortSignal.abort() });

    expect(result.isError).toBe(true);
    expect(ran).toBe(false);
  });

  it('reads arguments it cannot trust without letting them reach a prototype', async () => {
    let args: unknown;
    const registry = registryOf(
      tool(
        't',
        async (given) => {
          args = given;
          return '';
        },
        { a: { type: 'string' } },
      ),
    );

    await registry.execute('t', '{"a": 1, "__proto__": {"polluted": true}, "constructor": 2}');

    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    expect(Object.hasOwn(args as object, '__proto__')).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('refuses arguments that are too long to be parsed, and a getter that throws is a result too', async () => {
    const registry = registryOf(tool('t'));
    const hostile = Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => {
        throw new Error('gotcha');
      },
    });

    expect(await registry.execute('t', `{"a":"${'x'.repeat(4_000_001)}"}`)).toMatchObject({ isError: true });
    expect(await registry.execute('t', hostile)).toEqual({
      content: `Error executing t: gotcha${ERROR_HINT}`,
      isError: true,
    });
  });

  it('leaves {"arguments": …} alone when the tool has a parameter of that name', async () => {
    const seen: unknown[] = [];
    const registry = registryOf(
      tool(
        't',
        async (args) => {
          seen.push(args);
          return '';
        },
        { arguments: { type: 'object' } },
      ),
    );

    await registry.execute('t', { arguments: { a: 1 } });

    expect(seen).toEqual([{ arguments: { a: 1 } }]);
  });
});
