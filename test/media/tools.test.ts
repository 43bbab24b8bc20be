import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { MEDIA_FAILED, mediaTool } from '../../src/host/tools/media/index.ts';
import type { MediaAudit, MediaStore } from '../../src/store/index.ts';
import { openStore } from '../../src/store/index.ts';
import { MediaRig } from './rig.ts';
import { PNG } from './support.ts';

let rig: MediaRig;
afterEach(() => rig.close());

const QUEUED = {
  status: 'queued',
  message: 'It is on its way, and has not arrived yet.',
};

describe('send_test_image', () => {
  it('tells the model exactly status and message', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();

    const result = await rig.execute(callId);

    expect(result.isError).toBe(false);
    expect(JSON.parse(String(result.content))).toEqual(QUEUED);
  });

  it('goes allowed, put, bound, intent, executed, each durable before the next', async () => {
    const steps: string[] = [];
    const seen: string[] = [];
    const store = await openStore({ engine: 'sqlite', file: ':memory:' });
    const watched = watch(store, seen);
    rig = await MediaRig.open({ store: watched, media: { onStep: (step) => steps.push(step) } });
    const callId = await rig.call();

    await rig.execute(callId);

    expect(steps).toEqual(['allowed', 'put', 'bound', 'intent', 'executed']);
    const writes = seen.filter((name) => !name.startsWith('find') && !name.startsWith('claim'));
    expect(writes).toEqual([
      'addMediaAudit tool.allowed',
      'putAttachment',
      'bindAttachment',
      'addIntent',
      'recordExecuted tool.executed',
    ]);
  });

  it.each(['addMediaAudit', 'putAttachment', 'bindAttachment', 'addIntent', 'recordExecuted'] as const)(
    'sends nothing when %s fails, and says one stable text',
    async (method) => {
      const store = await openStore({ engine: 'sqlite', file: ':memory:' });
      const seen: string[] = [];
      rig = await MediaRig.open({ store: watch(store, seen, method) });
      const callId = await rig.call();

      const result = await rig.send(callId);

      expect(result.isError).toBe(true);
      expect(String(result.content).startsWith(MEDIA_FAILED)).toBe(true);
      expect(String(result.content)).not.toContain('secret');
      expect(await rig.rows(callId)).toEqual([]);
      expect(seen.at(-1)).toMatch(method);
    },
  );

  it('does nothing at all, not even keep the bytes, when the audit can not be written', async () => {
    const store = await openStore({ engine: 'sqlite', file: ':memory:' });
    const seen: string[] = [];
    rig = await MediaRig.open({ store: watch(store, seen, 'addMediaAudit') });
    const callId = await rig.call();

    await rig.execute(callId);

    expect(seen).toEqual(['addMediaAudit tool.allowed']);
  });

  it('is refused, and that is audited, on a session that was not authorized for it', async () => {
    rig = await MediaRig.open({ config: { tools: { authorization: [{ tool: 'send_chart' }] } } });
    const callId = await rig.call();

    const result = await rig.execute(callId);

    expect(result.isError).toBe(true);
    expect(await rig.store.listMediaAudit({ callId })).toMatchObject([
      { type: 'tool.denied', tool: 'send_test_image', detail: 'not_authorized' },
    ]);
  });

  it('is refused for a call of another session', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call({ sessionKey: 'realtime:somebody-else' });

    expect((await rig.execute(callId)).isError).toBe(true);
    expect(await rig.store.listMediaAudit({ callId })).toMatchObject([{ type: 'tool.denied' }]);
  });

  it('is refused outside a call', async () => {
    rig = await MediaRig.open();

    const result = await rig.registry.execute('send_test_image', {});

    expect(result.isError).toBe(true);
    expect(String(result.content)).toContain(MEDIA_FAILED);
  });

  it('sends no more than the budget of the call, counted on the disk', async () => {
    rig = await MediaRig.open({
      config: {
        media: { maxPerCall: 2 },
        tools: { authorization: [{ tool: 'send_chart' }] },
      },
    });
    const callId = await rig.call();
    const chart = (title: string) =>
      rig.send(callId, 'send_chart', { title, labels: ['a', 'b'], values: [1, 2] });

    const results = [await chart('one'), await chart('two'), await chart('three')];

    expect(results.map(({ isError }) => isError)).toEqual([false, false, true]);
    expect(await rig.rows(callId)).toHaveLength(2);
    const audit = await rig.store.listMediaAudit({ callId });
    expect(audit.filter(({ type }) => type === 'tool.denied')).toMatchObject([{ detail: 'over_budget' }]);
  });

  it('beside another media tool, both for one request to the agent behind, sends both', async () => {
    rig = await MediaRig.open({
      config: { tools: { authorization: [{ tool: 'send_chart' }, { tool: 'send_test_image' }] } },
    });
    const callId = await rig.call();
    const chart = { title: 'one', labels: ['a', 'b'], values: [1, 2] };

    const results = [
      await rig.execute(callId, 'send_chart', chart, 'ask-1'),
      await rig.execute(callId, 'send_test_image', {}, 'ask-1'),
    ];
    const tool = {
      callId: 'ask-1',
      name: 'ask_agent',
      args: '{}',
      output: 'Both are on their way.',
      isError: false,
    };
    await rig.store.commitTurn(callId, 1, { tools: [tool], replies: 'release' });

    expect(results.map(({ isError }) => isError)).toEqual([false, false]);
    expect(await rig.rows(callId)).toHaveLength(2);
  });

  it('called twice in one turn is one picture', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();

    await rig.send(callId);
    await rig.send(callId);

    expect(await rig.rows(callId)).toHaveLength(1);
  });

  it('binds the picture to the turn, with caption, fallback and the trace of the call', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();

    await rig.send(callId);

    const [row] = await rig.rows(callId);
    expect(row).toMatchObject({
      tenant: 'acme',
      event: { callId, turn: 1 },
      segment: 0,
      kind: 'image',
      caption: 'Test picture',
      target: { route: 'spoken', address: callId },
      requestId: `${callId}:1`,
      traceId: callId,
    });
    const { bytes } = await rig.media.attachments.load('acme', { callId, turn: 1 }, row?.attachmentId ?? '');
    expect(bytes.equals(PNG)).toBe(true);
  });
});

describe('the definitions of a session', () => {
  const names = (callId: string) =>
    rig.media.visible(callId, rig.registry.getDefinitions()).map(({ function: { name } }) => name);

  it('have a media tool only when the session was admitted to it', async () => {
    rig = await MediaRig.open({ config: { tools: { authorization: [{ tool: 'send_chart' }] } } });
    rig.registry.register({
      name: 'read',
      description: '',
      parameters: { type: 'object' },
      execute: async () => '',
    });
    const callId = await rig.call();

    expect(names(callId)).toEqual(['read', 'send_chart']);
    expect(names('a call that was not admitted')).toEqual(['read']);
  });

  it('stay as they were when the session began, with the revision on record', async () => {
    rig = await MediaRig.open({
      config: { tools: { authorization: [{ tool: 'send_map' }, { tool: 'send_chart' }] } },
    });
    const callId = await rig.call();

    rig.media.addTool('send_map');

    expect(names(callId)).toEqual(['send_chart']);
    const call = await rig.store.getCallMedia(callId);
    expect(call).toMatchObject({ tools: ['send_chart'], revision: expect.stringMatching(/^[0-9a-f]{16}$/) });
  });

  it('do not come to be when a required tool is missing', async () => {
    rig = await MediaRig.open({
      config: { tools: { authorization: [{ tool: 'send_map', required: true }] } },
    });

    await expect(rig.call()).rejects.toMatchObject({ code: 'MEDIA_TOOL_UNAVAILABLE' });
  });
});

describe('send_file', () => {
  const send = async (path: string, prepare: () => void = () => {}) => {
    rig = await MediaRig.open();
    prepare();
    const callId = await rig.call();
    const result = await rig.send(callId, 'send_file', { path });
    return { result, rows: await rig.rows(callId), callId };
  };

  it('sends a file of the workspace by its real type, not by its name', async () => {
    const { rows, callId } = await send('page.png', () =>
      writeFileSync(join(rig.workspace, 'page.png'), '<html><script>alert(1)</script>'),
    );

    expect(rows).toMatchObject([{ kind: 'document' }]);
    const id = rows[0]?.attachmentId ?? '';
    const { attachment } = await rig.media.attachments.load('acme', { callId, turn: 1 }, id);
    expect(attachment).toMatchObject({ mime: 'text/plain', name: 'page.txt' });
  });

  it.each(['../outside.txt', '/etc/passwd', 'link.txt', 'folder', 'nothing.txt', 'empty.txt'])(
    'sends nothing for %s',
    async (path) => {
      const { result, rows } = await send(path, () => {
        symlinkSync('/etc/passwd', join(rig.workspace, 'link.txt'));
        mkdirSync(join(rig.workspace, 'folder'));
        writeFileSync(join(rig.workspace, 'empty.txt'), '');
      });

      expect(result.isError).toBe(true);
      expect(String(result.content)).toContain(MEDIA_FAILED);
      expect(rows).toEqual([]);
    },
  );

  it('never sends what media itself keeps, such as the key of its links', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();

    expect((await rig.send(callId, 'send_file', { path: join(rig.directory, 'links.key') })).isError).toBe(
      true,
    );
  });
});

describe('send_chart', () => {
  it.each(['bar', 'line'])(
    'draws a %s chart as a PNG that says its numbers where it can not be shown',
    async (kind) => {
      rig = await MediaRig.open();
      const callId = await rig.call();
      const args = {
        kind,
        title: 'Rain <in> Bergen & Oslo',
        labels: ['May', 'June'],
        values: [-3, 41.5],
        unit: 'mm',
      };

      const result = await rig.send(callId, 'send_chart', args);

      expect(JSON.parse(String(result.content))).toEqual(QUEUED);
      const [row] = await rig.rows(callId);
      expect(row?.fallback).toContain('May: -3 mm, June: 41.5 mm.');
      const { bytes, attachment } = await rig.media.attachments.load(
        'acme',
        { callId, turn: 1 },
        row?.attachmentId ?? '',
      );
      expect(attachment.mime).toBe('image/png');
      expect(bytes.readUInt32BE(16)).toBe(800);
      // Some ink is on the paper: a blank one packs far smaller.
      expect(bytes.length).toBeGreaterThan(5000);
    },
  );

  it('sends nothing when labels and numbers do not match', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();

    const result = await rig.send(callId, 'send_chart', { title: 't', labels: ['a'], values: [1, 2] });

    expect(result.isError).toBe(true);
    expect(await rig.rows(callId)).toEqual([]);
  });
});

describe("a host's own media tool", () => {
  it('is ten lines', async () => {
    rig = await MediaRig.open({ config: { tools: { authorization: [{ tool: 'send_map' }] } } });
    rig.registry.register(
      mediaTool(rig.media, {
        name: 'send_map',
        description: 'Send the caller a map of a place.',
        parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
        async make({ place }) {
          return {
            bytes: PNG,
            name: 'map.png',
            caption: `Map of ${place}`,
            fallback: `I have a map of ${place}.`,
          };
        },
      }),
    );
    const callId = await rig.call();

    expect(JSON.parse(String((await rig.send(callId, 'send_map', { place: 'Bergen' })).content))).toEqual(
      QUEUED,
    );
    expect(await rig.rows(callId)).toMatchObject([{ caption: 'Map of Bergen', kind: 'image' }]);
  });
});

/** The store, with what is asked of it for media noted; `broken` fails with words that nobody may see. */
function watch<T extends MediaStore>(store: T, seen: string[], broken?: keyof MediaStore): T {
  const watched: (keyof MediaStore)[] = [
    'addMediaAudit',
    'putAttachment',
    'bindAttachment',
    'findAttachment',
    'addIntent',
    'recordExecuted',
    'claimOutbox',
  ];
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (!watched.includes(key as keyof MediaStore)) return method;
      return async (...args: unknown[]) => {
        const audit = args.find(
          (arg): arg is MediaAudit => typeof arg === 'object' && arg !== null && 'detail' in arg,
        );
        seen.push(audit ? `${String(key)} ${audit.type}` : String(key));
        if (key === broken) throw new Error('secret: the disk of /var/secret is full');
        return method(...args);
      };
    },
  });
}
