/** The media part of the acceptance checklist, line by line; the details have tests of their own beside this file. */

import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CallDesk, loadPrompts } from '../../src/call/index.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { silentLogger } from '../../src/observe/index.ts';
import type { MediaStore } from '../../src/store/index.ts';
import { openStore } from '../../src/store/index.ts';
import { MediaRig } from './rig.ts';

let rig: MediaRig;
afterEach(() => rig.close());

const only = (tool: string, required = false) => ({ tools: { authorization: [{ tool, required }] } });
const names = (callId: string) =>
  rig.media.visible(callId, rig.registry.getDefinitions()).map(({ function: { name } }) => name);

describe('checklist C5, media reply', () => {
  it('1a. a tool that is not in the authorization is not in the tool list of the session', async () => {
    rig = await MediaRig.open({ config: only('send_chart') });

    expect(names(await rig.call())).toEqual(['send_chart']);
  });

  it('1b. an optional tool that is missing is left out', async () => {
    rig = await MediaRig.open({ config: only('send_map') });

    expect(names(await rig.call())).toEqual([]);
  });

  it('1c. a required tool that is missing refuses the call at its construction, before any audio', async () => {
    rig = await MediaRig.open({ config: only('send_map', true) });
    let sessions = 0;
    const desk = new CallDesk({
      config: realtimeConfigSchema.parse({}),
      clock: rig.clock,
      logger: silentLogger,
      models: {
        capabilities: { provider: 'none', inputFormats: [], outputFormats: [] },
        connect: () => {
          sessions += 1;
          throw new Error('no model session may be opened');
        },
      } as never,
      synthesiser: {} as never,
      store: rig.store,
      prompts: loadPrompts('en-us'),
      channel: 'realtime',
      gateway: null,
      media: rig.media,
      persona: '',
      toolPolicy: () =>
        ({ timeoutMs: 1, exclusive: false, onInterrupt: 'finish', onHangup: 'finish' }) as never,
      history: async () => [],
      recordingDirectory: null,
    });

    const admitted = desk.admit({
      identity: { strength: 'none', id: null },
      route: '',
      carrier: 'wav',
      carrierCallId: 'one',
      leg: {
        input: { encoding: 'pcm16', sampleRate: 16_000 },
        output: { encoding: 'pcm16', sampleRate: 16_000 },
      } as never,
    });

    await expect(admitted).rejects.toMatchObject({
      code: 'MEDIA_TOOL_UNAVAILABLE',
      spoken: expect.stringContaining('Sorry'),
    });
    expect(sessions).toBe(0);
    expect(desk.activeCalls).toBe(0);
  });

  it('2. audit says allowed, put, bind, intent, audit says executed; without the audit there is no side effect', async () => {
    const steps: string[] = [];
    rig = await MediaRig.open({ media: { onStep: (step) => steps.push(step) } });
    const callId = await rig.call();
    await rig.execute(callId);
    expect(steps).toEqual(['allowed', 'put', 'bound', 'intent', 'executed']);
    expect((await rig.store.listMediaAudit({ callId })).map(({ type }) => type).sort()).toEqual([
      'tool.allowed',
      'tool.executed',
    ]);
    await rig.close();

    rig = await MediaRig.open({
      store: withoutAudit(await openStore({ engine: 'sqlite', file: ':memory:' })),
    });
    const other = await rig.call();
    expect((await rig.execute(other)).isError).toBe(true);
    expect(existsSync(join(rig.directory, 'blobs'))).toBe(false);
  });

  it('3. the result that the model sees has exactly status and message', async () => {
    rig = await MediaRig.open();
    const result = await rig.execute(await rig.call());

    expect(Object.keys(JSON.parse(String(result.content)))).toEqual(['status', 'message']);
  });

  it('4. another tenant and another event find nothing; a wrong digest makes it the fallback', async () => {
    rig = await MediaRig.open();
    const [one, two] = [await rig.call(), await rig.call()];
    await rig.send(one);
    await rig.send(two);
    const [row] = await rig.rows(one);
    const id = row?.attachmentId ?? '';
    const load = (tenant: string, callId: string) =>
      rig.media.attachments.load(tenant, { callId, turn: 1 }, id);

    await expect(load('other', one)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
    await expect(load('acme', two)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
    expect((await load('acme', one)).attachment.id).toBe(id);
    rmSync(join(rig.directory, 'blobs'), { recursive: true });
    await expect(load('acme', one)).rejects.toMatchObject({ code: 'MEDIA_NOT_FOUND' });
    await rig.deliver(1000);
    expect(rig.spoken.map(({ callId }) => callId).sort()).toEqual([one, two].sort());
  });

  it('5a. a replay of the outbox keeps the identity of the delivery', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call({ hasPage: true });
    await rig.send(callId);
    const [before] = await rig.rows(callId);

    await rig.deliver(120_000);
    await rig.store.retryOutbox(before?.deliveryId ?? '', rig.clock.wallNow());
    await rig.deliver(120_000);

    const rows = await rig.rows(callId);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ deliveryId: before?.deliveryId, segment: 0, event: { callId, turn: 1 } });
  });

  it('5b. the same inbound event twice is one media reply', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    const toolCallId = randomBytes(4).toString('hex');

    for (let times = 0; times < 2; times += 1) {
      const { content, isError } = await rig.execute(callId, 'send_test_image', {}, toolCallId);
      const tool = {
        callId: toolCallId,
        name: 'send_test_image',
        args: '{}',
        output: String(content),
        isError,
      };
      await rig.store.commitTurn(callId, 1, { tools: [tool], replies: 'release' });
    }
    await rig.deliver(60_000);

    expect(await rig.rows(callId)).toHaveLength(1);
    expect(rig.spoken).toHaveLength(1);
  });

  it('6. a tool or model error drops the media of the turn and keeps request and trace', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    const { content, isError } = await rig.execute(callId, 'send_test_image', {}, 't1');
    const tool = { callId: 't1', name: 'send_test_image', args: '{}', output: String(content), isError };
    await rig.store.commitTurn(callId, 1, { tools: [tool] });
    await rig.store.commitTurn(callId, 1, { replies: 'drop' });

    await rig.deliver(120_000);

    expect(rig.spoken).toEqual([]);
    expect(await rig.rows(callId)).toMatchObject([
      { status: 'dead_letter', lastError: 'turn_failed', requestId: `${callId}:1`, traceId: callId },
    ]);
  });

  it('7. where nothing can be shown, the persisted fallback is said, once', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    await rig.send(callId);

    await rig.deliver(300_000);

    const [row] = await rig.rows(callId);
    expect(rig.spoken).toEqual([{ callId, text: row?.fallback }]);
  });
});

function withoutAudit<T extends MediaStore>(store: T): T {
  return new Proxy(store, {
    get(target, key) {
      if (key === 'addMediaAudit') return async () => Promise.reject(new Error('the disk is full'));
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
