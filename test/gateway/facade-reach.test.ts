import { describe, expect, it } from 'vitest';
import {
  createToolGatewayFacade,
  type ExecuteToolOptions,
  type ToolContentBlock,
  type ToolDefinition,
  type ToolGateway,
} from '../../src/gateway/index.ts';

const MARK = 'must stay out of reach';

/** A host full of things a channel must not get hold of; it tries to hand them out wherever it can. */
class Host implements ToolGateway {
  readonly mark = MARK;
  readonly definitions: ToolDefinition[] = [
    { type: 'function', function: { name: 'a', description: 'd', parameters: { type: 'object' } } },
  ];
  readonly blocks: ToolContentBlock[] = [{ type: 'text', text: 'block' }];
  seenArgs: unknown = null;
  seenOptions: ExecuteToolOptions | null = null;

  getToolDefinitions(): ToolDefinition[] {
    return this.definitions;
  }

  async executeTool(_key: string, name: string, args: unknown, options: ExecuteToolOptions) {
    this.seenArgs = args;
    this.seenOptions = options;
    options.signal?.addEventListener('abort', () => this.mark);
    if (name === 'throws') throw Object.assign(new Error(MARK, { cause: this }), { host: this });
    if (name === 'blocks') return { content: this.blocks, isError: false };
    return Object.assign(Object.create(this), { content: 'ok', isError: false });
  }
}

/** The language's own objects: every object of every program leads there, and none of them to the host. */
const INTRINSICS = new Set<unknown>([
  Object.prototype,
  Function.prototype,
  Array.prototype,
  Promise.prototype,
]);

/** Everything that can be got at from `roots`: properties of any name, getters' values, prototypes, text. */
function reachable(roots: readonly unknown[]): { values: Set<unknown>; text: string } {
  const values = new Set<unknown>();
  const texts: string[] = [];
  const queue = [...roots];
  while (queue.length > 0) {
    const value = queue.pop();
    if (INTRINSICS.has(value)) continue;
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
      texts.push(String(value));
      continue;
    }
    if (values.has(value)) continue;
    values.add(value);
    queue.push(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { get, set, value: plain } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      queue.push(get, set, plain, Reflect.get(value, key));
    }
  }
  return { values, text: texts.join('\n') };
}

describe('reaching through the facade', () => {
  it('finds two functions and nothing else', () => {
    const host = new Host();
    const facade = createToolGatewayFacade(host, { channel: 'realtime' });

    expect(Reflect.ownKeys(facade).sort()).toEqual(['executeTool', 'getToolDefinitions']);
    expect(Object.getPrototypeOf(facade)).toBeNull();
    for (const name of [
      'constructor',
      '__proto__',
      'toString',
      'valueOf',
      'tools',
      'sessions',
      'gateway',
      'mark',
    ]) {
      expect(name in facade, name).toBe(false);
      expect(name in facade.executeTool, name).toBe(false);
    }
    expect(reachable([facade]).values).not.toContain(host);
  });

  it('cannot change it', () => {
    const facade = createToolGatewayFacade(new Host(), { channel: 'realtime' });
    const mutable = facade as unknown as Record<string, unknown>;

    expect(Object.isFrozen(facade)).toBe(true);
    expect(() => {
      mutable.executeTool = () => 'mine';
    }).toThrow(TypeError);
    expect(() => {
      mutable.more = 1;
    }).toThrow(TypeError);
    expect(() => Object.setPrototypeOf(facade, {})).toThrow(TypeError);
    expect(() => Object.setPrototypeOf(facade.executeTool, Function.prototype)).toThrow(TypeError);
    expect(() => Object.defineProperty(facade.getToolDefinitions, 'caller', { value: 1 })).toThrow(TypeError);
  });

  it('gets no host through results, thrown errors, foreign `this` or what it passes in', async () => {
    const host = new Host();
    const facade = createToolGatewayFacade(host, { channel: 'realtime' });
    const call = (name: string, options: object = {}) =>
      Reflect.apply(facade.executeTool, host, ['k', name, { a: 1 }, { channel: 'realtime', ...options }]);
    const handed: unknown[] = [];
    const spy = Object.assign(new AbortController().signal, {
      addEventListener: (...args: unknown[]) => handed.push(...args),
    });

    const outcomes = [
      await call('ok'),
      await call('blocks'),
      await call('throws'),
      await call('ok', { channel: 'websocket' }),
      await call('ok', { signal: spy }),
      Reflect.apply(facade.getToolDefinitions, host, []),
    ];

    const found = reachable([...outcomes, ...handed]);
    expect(found.values).not.toContain(host);
    expect(found.values).not.toContain(host.blocks);
    expect(found.values).not.toContain(host.definitions);
    expect(found.text).not.toContain(MARK);
    expect(handed).toEqual([]);
  });

  it('changes nothing in the host through what it was given or gave', async () => {
    const host = new Host();
    const facade = createToolGatewayFacade(host, { channel: 'realtime' });
    const args = { path: 'a' };

    const result = await facade.executeTool('k', 'blocks', args, { channel: 'realtime' });
    (result.content as ToolContentBlock[]).push({ type: 'text', text: 'mine' });
    const definitions = facade.getToolDefinitions();
    definitions.length = 0;
    args.path = 'b';

    expect(host.blocks).toHaveLength(1);
    expect(facade.getToolDefinitions()).toHaveLength(1);
    expect(host.seenArgs).toEqual({ path: 'a' });
    expect(Reflect.ownKeys(host.seenOptions ?? {})).toEqual(['channel']);
  });

  it('would be found by this test if it let the host through', () => {
    const host = new Host();
    const byPrototype = Object.create({ nested: [host] }) as object;
    const byGetter = Object.defineProperty({}, Symbol('hidden'), { get: () => host });
    const byFunction = Object.assign(() => {}, { host });

    for (const leaky of [byPrototype, byGetter, byFunction]) {
      const found = reachable([leaky]);
      expect(found.values).toContain(host);
      expect(found.text).toContain(MARK);
    }
  });
});
