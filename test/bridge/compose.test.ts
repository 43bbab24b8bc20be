/** The channel put together for a host on the other side: what it refuses to start with, and what it offers where. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Composition, compose } from '../../src/bridge/compose.ts';
import type { BridgeParts } from '../../src/bridge/parts.ts';
import { bridgeParts } from '../../src/cli/bridge-parts.ts';
import { realClock } from '../../src/clock.ts';
import { initializeSchema, RpcPeer } from '../../src/gateway/remote/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';
import { HostDouble } from './host-double.ts';
import { crossedStreams } from './wire.ts';

const GATE = { toolGate: { requireApproval: ['delete_*'], deferred: { card: { notify: ['telegram:77'] } } } };

describe('the channel for another host', () => {
  let folder: string;
  let host: HostDouble;
  let peer: RpcPeer;
  let composition: Composition | null;
  let opened: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'compose-'));
    const streams = crossedStreams();
    host = new HostDouble(streams.host);
    host.offer('read_file', 'delete_file', 'spawn', 'cron');
    peer = new RpcPeer({ ...streams.node, clock: realClock });
    peer.listen();
    composition = null;
    opened = 0;
  });
  afterEach(async () => {
    await composition?.close();
    peer.close();
    rmSync(folder, { recursive: true, force: true });
    expect(host.faults).toEqual([]);
    expect(opened).toBe(0);
  });

  async function start(config: object, access: object = {}): Promise<Composition> {
    const init = initializeSchema.parse({
      protocol: 1,
      config: { server: { port: 0 }, model: { provider: 'command' }, page: { enabled: false }, ...config },
      workspace: folder,
      dataDir: join(folder, 'data'),
      channel: 'realtime',
      host: { name: 'nanobot', version: '0.3.5' },
      toolAccess: { requested: 'full', level: 'full', gate: false, ...access },
    });
    const parts: BridgeParts = {
      ...bridgeParts(),
      createLogger: () => silentLogger,
      openStore: async () => {
        const store = await openStore({ engine: 'sqlite', file: ':memory:' });
        opened++;
        return Object.assign(store, {
          close: ((close) => () => {
            opened--;
            return close();
          })(store.close.bind(store)),
        });
      },
    };
    composition = await compose(init, peer, parts);
    return composition;
  }
  const names = () => composition?.gateway.getToolDefinitions().map((each) => each.function.name);

  it.each([
    ['public', { tools: { mode: 'both' } }],
    ['public', { tools: { mode: 'delegate' } }],
    ['delegate', {}],
  ])('does not start with a gate that the agent walks around: level %s, %o', async (level, config) => {
    await expect(start({ ...config, approvals: GATE }, { level })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('voiceOnly'),
    });
    expect(host.seen).toEqual([]);
  });

  it('starts so when that is accepted in writing, and says so', async () => {
    const { facts } = await start({ approvals: { ...GATE, scope: 'voiceOnly' } }, { level: 'delegate' });

    expect(facts.gate).toBe(false);
    expect(facts.notes).toEqual([
      expect.stringContaining("'delegate', not 'full'"),
      expect.stringContaining('not for what the agent runs elsewhere'),
    ]);
  });

  it('keeps tools that set the agent to work away from a gate that does not reach it', async () => {
    await start({ approvals: GATE }, { requested: 'public', level: 'public' });

    expect(names()).toEqual(['read_file', 'delete_file']);
  });

  it.each([
    ['the host asks the gate', GATE, { gate: true }],
    ['there is no gate', {}, { level: 'public' }],
    ['it was accepted in writing', { ...GATE, scope: 'voiceOnly' }, { level: 'public' }],
  ])('offers them where %s', async (_where, approvals, access) => {
    await start({ approvals }, access);

    expect(names()).toEqual(['read_file', 'delete_file', 'spawn', 'cron']);
  });

  it('announces a card with a link alone to a host that knows no /approve', async () => {
    const { gateway } = await start({ approvals: GATE, page: { enabled: true } }, { level: 'public' });

    const result = await gateway.executeTool('realtime:c1', 'delete_file', '{}', {
      channel: 'realtime',
      chatId: 'c1',
    });
    await host.until(() => host.paramsOf('message/send').length > 0);

    expect(result.isError).toBe(false);
    expect(host.executions.size).toBe(0);
    const [card] = host.paramsOf('message/send');
    expect(card?.content).toContain(`${composition?.facts.address}/operator`);
    expect(card?.content).not.toContain('/approve');
  });

  it('asks for no tools at the level of requests alone', async () => {
    await start({}, { level: 'delegate' });

    expect(host.paramsOf('tools/list')).toEqual([]);
  });

  it('frees what it opened when the host does not answer as it has to', async () => {
    host.answers['tools/list'] = () => ({ result: { definitions: 7 } });

    await expect(start({})).rejects.toMatchObject({ code: 'HOST_UNAVAILABLE' });
  });

  describe('an edit of the config', () => {
    const section = (more: object) => ({
      server: { port: 0 },
      model: { provider: 'command' },
      page: { enabled: false },
      ...more,
    });
    const gate = (requireApproval: string[]) => ({ approvals: { toolGate: { requireApproval } } });
    const at = { channel: 'realtime', chatId: 'c1' };

    it('that tightens the gate holds at once; one that loosens it, or can not be read, changes nothing', async () => {
      const { edited, gateway } = await start(gate(['delete_file']), { level: 'public' });
      const run = async (name: string) => (await gateway.executeTool('realtime:c1', name, '{}', at)).content;

      expect(await edited(section(gate(['delete_file'])))).toEqual({
        gate: false,
        approvals: 'inForce',
        restart: false,
      });
      expect(await run('read_file')).toBe('read_file ran');

      expect(await edited(section(gate(['delete_file', 'read_file'])))).toMatchObject({
        approvals: 'inForce',
        restart: false,
      });
      expect(await run('read_file')).toContain('staged');

      expect(await edited(section(gate([])))).toMatchObject({ approvals: 'waiting' });
      expect(await edited(section({ approvals: { toolGate: 7 } }))).toMatchObject({ approvals: 'broken' });
      expect(await edited(section({ ...gate(['delete_file', 'read_file']), greeting: 'Hi.' }))).toMatchObject(
        {
          approvals: 'inForce',
          restart: true,
        },
      );
      expect(await run('read_file')).toContain('staged');
      expect(host.executions.size).toBe(1);
    });

    it('that puts a gate up where there was none holds designated tools back, and tools that walk around it', async () => {
      const { edited, gateway, facts } = await start({}, { level: 'public' });
      const run = (name: string) => gateway.executeTool('realtime:c1', name, '{}', at);
      expect(facts.gate).toBe(false);
      expect(names()).toContain('spawn');

      const answer = await edited(section(gate(['delete_file'])));

      expect(answer).toEqual({ gate: false, approvals: 'inForce', restart: true });
      expect((await run('delete_file')).content).toContain('restart');
      expect((await run('spawn')).content).toContain('GATEWAY_TOOL_DENIED');
      expect(names()).toEqual(['read_file', 'delete_file']);
      expect((await run('read_file')).content).toBe('read_file ran');
    });

    it('is asked about by the host from then on, where it asks', async () => {
      const { edited, gate: desk } = await start({}, { gate: true });
      const asked = { sessionKey: 's', channel: 'cli', chatId: 'x', arguments: {} };
      expect(await desk.check({ ...asked, name: 'delete_file' })).toEqual({ run: true });

      expect(await edited(section(gate(['delete_file'])))).toMatchObject({ gate: true });

      expect(await desk.check({ ...asked, name: 'delete_file' })).toMatchObject({ run: false });
      expect(await desk.check({ ...asked, name: 'read_file' })).toEqual({ run: true });
      expect(names()).toContain('spawn');
    });
  });

  it('runs under the name realtime only', async () => {
    const init = { channel: 'websocket' };

    await expect(
      compose(
        initializeSchema.parse({
          protocol: 1,
          config: {},
          workspace: folder,
          dataDir: folder,
          host: { name: 'x', version: '1' },
          toolAccess: { requested: 'public', level: 'public', gate: false },
          ...init,
        }),
        peer,
        bridgeParts(),
      ),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
