import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RealtimeConfigInput } from '../../src/config.ts';
import {
  BACKOFF_BASE_MS,
  LEASE_MS,
  MAX_DELIVERY_ATTEMPTS,
  RECEIPT_TIMEOUT_MS,
  RECONCILE_SETTLE_MS,
  SEND_TIMEOUT_MS,
} from '../../src/media/limits.ts';
import { TAKE_OVER_LOOK_MS } from '../../src/media/outbox-worker.ts';
import type { MediaEvent } from '../../src/media/pages.ts';
import { openStore } from '../../src/store/index.ts';
import { FakeMessaging } from '../../src/testing/fake-messaging.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { MediaRig, NUMBER, type RigOptions } from './rig.ts';
import { PNG } from './support.ts';

let rig: MediaRig;
let carrier: FakeMessaging | null = null;
/** Where the carrier finds our pictures; the server's own tests serve them. */
const pictures = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': PNG.length }).end(PNG);
});
beforeAll(() => new Promise<void>((resolve) => pictures.listen(0, '127.0.0.1', resolve)));
afterAll(() => pictures.close());
afterEach(async () => {
  await rig.close();
  await carrier?.close();
  carrier = null;
});

/** A page that shows what it is sent and says so, or keeps silent. */
class TestPage {
  readonly events: MediaEvent[] = [];
  isSilent = false;
  #connection: ReturnType<MediaRig['media']['pages']['connect']> = null;

  connect(callId: string, shown: readonly string[] = []): this {
    this.#connection = rig.media.pages.connect(callId, {
      send: (text) => {
        const event = JSON.parse(text) as MediaEvent;
        this.events.push(event);
        if (!this.isSilent) this.say({ type: 'media.receipt', id: event.id });
      },
      close: () => {},
    });
    this.say({ type: 'hello', shown });
    return this;
  }

  say(message: unknown): void {
    this.#connection?.message(JSON.stringify(message));
  }

  leave(): void {
    this.#connection?.closed();
  }
}

describe('the spoken fallback', () => {
  it('is said once, word for word, where nothing can be shown', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    await rig.send(callId);

    await rig.deliver(60_000);

    const [row] = await rig.rows(callId);
    expect(rig.spoken).toEqual([{ callId, text: row?.fallback }]);
    expect(row).toMatchObject({ status: 'sent', deliveredBy: 'spoken' });
  });

  it('waits for a caller who keeps talking, as long as it takes', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    let isBusy = true;
    const line = rig.media.line;
    rig.media.line = {
      ...line,
      isLive: () => true,
      speakFallback: (id, text, signal) =>
        isBusy
          ? new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }))
          : line.speakFallback(id, text, signal),
    };
    await rig.send(callId);
    rig.media.poke();
    await rig.clock.advance(10 * SEND_TIMEOUT_MS);
    expect((await rig.rows(callId))[0]?.attempts).toBeLessThanOrEqual(1);

    isBusy = false;
    await rig.clock.advance(SEND_TIMEOUT_MS + 2000);
    await rig.media.idle();

    expect(rig.spoken).toHaveLength(1);
  });

  it('does not outlive the call', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    await rig.send(callId);
    rig.live.delete(callId);

    await rig.deliver();

    expect(rig.spoken).toEqual([]);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'dead_letter', lastError: 'call_ended' }]);
  });

  it('is said instead of a picture whose bytes are damaged', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call({ hasPage: true });
    const page = new TestPage().connect(callId);
    await rig.send(callId);
    const [row] = await rig.rows(callId);
    const found = await rig.media.attachments.find('acme', { callId, turn: 1 }, row?.attachmentId ?? '');
    writeFileSync(join(rig.directory, 'blobs', found.sha256.slice(0, 2), found.sha256), 'damaged');

    await rig.deliver();

    expect(page.events).toEqual([]);
    expect(rig.spoken).toHaveLength(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'spoken' }]);
  });

  it('takes the order of a reply: two pictures are told of one after the other', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    await rig.send(callId);
    await rig.send(callId, 'send_chart', { title: 'Rain', labels: ['a'], values: [1] });

    await rig.deliver(1000);

    expect(rig.spoken.map(({ text }) => text.slice(0, 14))).toEqual(['I have a test ', 'I have a chart']);
  });
});

describe('a reply of a turn that failed', () => {
  it('is not sent, and keeps request and trace', async () => {
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

  it('waits for the answer to say so, and goes out by itself when nobody says anything', async () => {
    rig = await MediaRig.open();
    const callId = await rig.call();
    const { content, isError } = await rig.execute(callId, 'send_test_image', {}, 't1');
    const tool = { callId: 't1', name: 'send_test_image', args: '{}', output: String(content), isError };
    await rig.store.commitTurn(callId, 1, { tools: [tool] });

    await rig.deliver(10_000);
    expect(rig.spoken).toEqual([]);
    await rig.deliver(20_000);

    expect(rig.spoken).toHaveLength(1);
  });
});

describe('the page', () => {
  const open = async () => {
    rig = await MediaRig.open();
    return rig.call({ hasPage: true });
  };

  it('is told caption, size, digest and a link, and its receipt makes it sent', async () => {
    const callId = await open();
    const page = new TestPage().connect(callId);
    await rig.send(callId);

    await rig.deliver();

    expect(page.events).toEqual([
      {
        type: 'media',
        id: expect.stringMatching(/^[\w-]{16}$/),
        segment: 0,
        kind: 'image',
        mime: 'image/png',
        name: 'test-picture.png',
        size: PNG.length,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        caption: 'Test picture',
        url: expect.stringMatching(/^\/media\/p\//),
      },
    ]);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'page', attempts: 1 }]);
  });

  it('that is not there is waited for, uncounted, and gets it when it comes', async () => {
    const callId = await open();
    await rig.send(callId);
    rig.live.delete(callId);
    await rig.deliver(3_600_000);
    expect(await rig.rows(callId)).toMatchObject([
      { status: 'retryable', lastError: 'not_ready', attempts: 0 },
    ]);

    const page = new TestPage().connect(callId);
    await rig.clock.advance(300);
    await rig.media.idle();

    expect(page.events).toHaveLength(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent' }]);
  });

  it('that never comes back is waited for until the retention ends', async () => {
    rig = await MediaRig.open({
      config: { tools: { authorization: [{ tool: 'send_test_image' }] }, media: { retentionHours: 0.1 } },
    });
    const callId = await rig.call({ hasPage: true });
    await rig.send(callId);

    await rig.deliver(0.1 * 3_600_000 + 10_000);

    expect(await rig.rows(callId)).toMatchObject([{ status: 'dead_letter', lastError: 'expired' }]);
  });

  it('that says nothing is told again a few times, then the caller hears the fallback', async () => {
    const callId = await open();
    const page = new TestPage().connect(callId);
    page.isSilent = true;
    await rig.send(callId);
    rig.media.poke();

    for (let round = 0; round < 40; round += 1) {
      await rig.clock.advance(RECEIPT_TIMEOUT_MS);
    }
    await rig.media.idle();

    expect(page.events).toHaveLength(MAX_DELIVERY_ATTEMPTS);
    expect(new Set(page.events.map(({ id }) => id)).size).toBe(1);
    expect(rig.spoken).toHaveLength(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'spoken' }]);
  });

  it.each([
    ['shows it, it is sent and not sent again', true, 1],
    ['does not, it is sent again', false, 2],
  ])('that went away meanwhile is asked when it comes back: when it %s', async (_, shows, times) => {
    const callId = await open();
    const page = new TestPage().connect(callId);
    page.isSilent = true;
    await rig.send(callId);
    rig.media.poke();
    await rig.clock.advance(1000);
    page.leave();
    await rig.media.idle();
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sending', lastError: 'unknown' }]);

    page.isSilent = false;
    page.connect(callId, shows ? [page.events[0]?.id ?? ''] : []);
    await rig.clock.advance(LEASE_MS);
    await rig.media.idle();

    expect(page.events).toHaveLength(times);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'page' }]);
  });

  it('is disconnected for a message that is not in the protocol', async () => {
    const callId = await open();
    const page = new TestPage().connect(callId);

    page.say({ type: 'media.receipt', id: 'x', note: 'hello' });

    expect(rig.media.pages.isConnected(callId)).toBe(false);
  });
});

describe('MMS and SMS', () => {
  const openWith = async (media: RealtimeConfigInput['media'] = {}, options: RigOptions = {}) => {
    const clock = new FakeClock();
    const { port } = pictures.address() as AddressInfo;
    carrier = await FakeMessaging.listen({
      now: () => clock.wallNow(),
      resolveUrl: () => `http://127.0.0.1:${port}/`,
    });
    const { accountSid, authToken, baseUrl } = carrier;
    rig = await MediaRig.open({
      clock,
      config: {
        tools: { authorization: [{ tool: 'send_test_image' }, { tool: 'send_file' }] },
        media: {
          consent: [NUMBER],
          ...media,
          messaging: { accountSid, authToken, baseUrl, from: '+15550100999', ...media?.messaging },
        },
      },
      media: { publicUrl: 'http://voice.example', ...options.media },
    });
    return carrier;
  };
  const attested = { strength: 'attested', id: NUMBER } as const;

  it('sends a picture as MMS where number, region and size allow it', async () => {
    const { messages } = await openWith();
    const callId = await rig.call(attested);
    await rig.send(callId);

    await rig.deliver();

    expect(messages).toMatchObject([
      {
        to: NUMBER,
        from: '+15550100999',
        body: 'Test picture',
        mediaUrl: expect.stringMatching(/^http:\/\/voice\.example\/media\/c\//),
      },
    ]);
    expect(await rig.rows(callId)).toMatchObject([
      { status: 'sent', deliveredBy: 'mms', providerRef: messages[0]?.sid },
    ]);
    expect(rig.spoken).toEqual([]);
  });

  it.each([
    ['elsewhere', { messaging: { mmsPrefixes: ['+44'] } }],
    ['of a picture that is too large', { messaging: { mmsMaxBytes: 100 } }],
  ])('sends a link by SMS %s', async (_, media) => {
    const { messages } = await openWith(media);
    const callId = await rig.call(attested);
    await rig.send(callId);

    await rig.deliver();

    expect(messages).toMatchObject([
      {
        mediaUrl: null,
        body: expect.stringMatching(/^Test picture\nhttp:\/\/voice\.example\/media\/m\/\S+$/),
      },
    ]);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'sms' }]);
  });

  it('sends a file that is no picture as a link', async () => {
    const { messages } = await openWith();
    writeFileSync(join(rig.workspace, 'a.pdf'), '%PDF-1.7 etc');
    const callId = await rig.call(attested);
    await rig.send(callId, 'send_file', { path: 'a.pdf' });

    await rig.deliver();

    expect(messages[0]?.body).toContain('/media/m/');
  });

  it.each([
    ['a withheld number', { strength: 'none', id: null }],
    ['a number that is only claimed', { strength: 'claimed', id: NUMBER }],
    ['a number that did not agree', { strength: 'attested', id: '+15550100777' }],
    ['a login that is no number', { strength: 'authenticated', id: 'ada' }],
  ] as const)('goes straight to the spoken fallback for %s', async (_, caller) => {
    const double = await openWith();
    const callId = await rig.call(caller);
    await rig.send(callId);

    await rig.deliver();

    expect(double.attempts).toBe(0);
    expect(rig.spoken).toHaveLength(1);
  });

  it('still goes after the hang-up', async () => {
    const { messages } = await openWith();
    const callId = await rig.call(attested);
    await rig.send(callId);
    rig.live.delete(callId);

    await rig.deliver();

    expect(messages).toHaveLength(1);
  });

  it('goes on by SMS when the MMS is refused for good, and to the spoken fallback after that', async () => {
    const double = await openWith();
    double.next({ kind: 'reject', status: 400, code: 21614 });
    const callId = await rig.call(attested);
    await rig.send(callId);
    await rig.deliver();
    expect(await rig.rows(callId)).toMatchObject([
      { status: 'sent', deliveredBy: 'sms', target: { route: 'mms' } },
    ]);

    double.next({ kind: 'reject', status: 400, code: 1 }, { kind: 'reject', status: 400, code: 2 });
    const other = await rig.call(attested);
    await rig.send(other);
    await rig.deliver();

    expect(await rig.rows(other)).toMatchObject([{ status: 'sent', deliveredBy: 'spoken' }]);
    expect(rig.spoken).toHaveLength(1);
  });

  it('waits as long as a rate limit says', async () => {
    const double = await openWith();
    double.next({ kind: 'rate_limit', retryAfterS: 30 });
    const callId = await rig.call(attested);
    await rig.send(callId);
    await rig.deliver(29_000);
    expect(double.attempts).toBe(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'retryable', lastError: 'rate_limited' }]);

    await rig.deliver(6000);

    expect(double.attempts).toBe(2);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent' }]);
  });

  it.each(['accept_then_reset', 'accept_then_silence'] as const)(
    'is sent once when the provider took it and %s: the list of messages tells',
    async (kind) => {
      const double = await openWith();
      double.next({ kind });
      const callId = await rig.call(attested);
      await rig.send(callId);
      rig.media.poke();
      await until(() => double.attempts === 1);
      await rig.clock.advance(SEND_TIMEOUT_MS);
      await rig.media.idle();
      await double.fetched();

      await rig.deliver(60_000);
      await rig.deliver();

      expect(double.attempts).toBe(1);
      expect(double.messages).toHaveLength(1);
      expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'mms' }]);
      const audit = await rig.store.listMediaAudit({ callId });
      expect(audit).toContainEqual(
        expect.objectContaining({ type: 'delivery.reconciled', detail: 'accepted' }),
      );
    },
  );

  it('is sent again when the provider, asked long enough after, does not have it', async () => {
    const double = await openWith();
    double.next({ kind: 'reset' });
    const callId = await rig.call(attested);
    await rig.send(callId);
    await rig.deliver(RECONCILE_SETTLE_MS / 2);
    expect(double.attempts).toBe(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sending', lastError: 'unknown' }]);

    for (let round = 0; round < 20; round += 1) await rig.deliver(RECONCILE_SETTLE_MS / 4);

    expect(double.attempts).toBe(2);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', attempts: 2 }]);
  });

  it('stays unknown, and is never sent again by itself, while the provider does not say', async () => {
    const double = await openWith();
    double.next({ kind: 'server_error' });
    double.isListDown = true;
    const callId = await rig.call(attested);
    await rig.send(callId);

    for (let round = 0; round < 6; round += 1) await rig.deliver(600_000);

    expect(double.attempts).toBe(1);
    const [row] = await rig.rows(callId);
    expect(row).toMatchObject({ status: 'sending', lastError: 'unknown', attempts: 1 });

    await rig.store.retryOutbox(row?.deliveryId ?? '', rig.clock.wallNow());
    await rig.deliver();
    expect(double.attempts).toBe(2);
  });

  it('keeps trying a provider that can not be reached, further and further apart, then says it', async () => {
    const double = await openWith();
    await double.close();
    const callId = await rig.call(attested);
    await rig.send(callId);
    await rig.deliver();
    const [row] = await rig.rows(callId);
    // Random is 0.5: three quarters of the full wait.
    expect((row?.availableAt ?? 0) - rig.clock.wallNow()).toBe(BACKOFF_BASE_MS * 0.75);

    for (let round = 0; round < 20; round += 1) await rig.deliver(60_000);

    expect(rig.spoken).toHaveLength(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'spoken' }]);
    carrier = null;
  });
});

describe("a chat of the host's", () => {
  const chats = [{ person: 'ada', channel: 'telegram', chatId: '42' }];
  const openWith = async (publish: (message: unknown) => void) => {
    rig = await MediaRig.open({
      config: { tools: { authorization: [{ tool: 'send_test_image' }] }, media: { chats } },
      media: { publish },
    });
  };

  it.each([
    ['a person who has logged in', 'authenticated'],
    ['a number that the carrier vouches for', 'attested'],
  ] as const)('gets the picture as a file, for %s', async (_who, strength) => {
    const published: { media: readonly string[] }[] = [];
    await openWith((message) => published.push(message as { media: readonly string[] }));
    const callId = await rig.call({ strength, id: 'ada' });
    await rig.send(callId);

    await rig.deliver();

    expect(published).toMatchObject([
      { channel: 'telegram', chatId: '42', content: 'Test picture', metadata: {} },
    ]);
    const path = published[0]?.media[0] ?? '';
    expect(path).toMatch(/test-picture\.png$/);
    expect((await readFile(path)).equals(PNG)).toBe(true);
    rmSync(path);
  });

  it('is not used for who only claims to be that person', async () => {
    await openWith(() => {});
    const callId = await rig.call({ strength: 'claimed', id: 'ada' });
    await rig.send(callId);

    await rig.deliver();

    expect(await rig.rows(callId)).toMatchObject([{ target: { route: 'spoken' } }]);
  });
});

/** Real sockets take real time; virtual time stands still meanwhile. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('what another node has left lying', () => {
  /** A store that says of every row that it is another node's, and gives out so many in all. */
  const foreign = async (count = Number.POSITIVE_INFINITY) => {
    const store = await openStore({ engine: 'sqlite', file: ':memory:' });
    const asked: (readonly string[] | null)[] = [];
    const real = store.claimOutbox.bind(store);
    let left = count;
    const claimOutbox: typeof store.claimOutbox = async (options) => {
      asked.push(options.takeOver?.routes ?? null);
      if (left <= 0) return [];
      const claimed = await real(options);
      left -= claimed.length;
      return claimed.map((each) => ({ ...each, isForeign: true }));
    };
    return { store: Object.assign(store, { claimOutbox }), asked };
  };

  it('is asked for now and then, by the ways that go from anywhere', async () => {
    const { store, asked } = await foreign();
    rig = await MediaRig.open({ store, media: { publish: () => {} } });
    await rig.media.start();
    await rig.clock.advance(TAKE_OVER_LOOK_MS * 2 + 1000);

    const takeOvers = asked.filter((routes) => routes !== null);
    expect(takeOvers).toHaveLength(3);
    expect(takeOvers[0]).toEqual(['channel']);
    expect(asked.length).toBeGreaterThan(takeOvers.length);
  });

  it('goes out from here when the bytes are here', async () => {
    const published: unknown[] = [];
    const { store } = await foreign();
    rig = await MediaRig.open({
      store,
      config: { media: { chats: [{ person: 'ada', channel: 'telegram', chatId: '7' }] } },
      media: { publish: (message) => void published.push(message) },
    });
    const callId = await rig.call({ strength: 'authenticated', id: 'ada' });
    await rig.send(callId);
    await rig.deliver();

    expect(published).toHaveLength(1);
    expect(await rig.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'channel' }]);
  });

  it('is given back, uncounted, when the bytes are not here', async () => {
    const { store } = await foreign(1);
    rig = await MediaRig.open({
      store,
      config: { media: { chats: [{ person: 'ada', channel: 'telegram', chatId: '7' }] } },
      media: { publish: () => {} },
    });
    const callId = await rig.call({ strength: 'authenticated', id: 'ada' });
    await rig.send(callId);
    rmSync(join(rig.directory, 'blobs'), { recursive: true });
    await rig.deliver();

    expect((await rig.rows(callId))[0]).toMatchObject({
      status: 'retryable',
      attempts: 0,
      attemptRoute: 'channel',
      availableAt: rig.clock.wallNow(),
    });
    expect(rig.spoken).toEqual([]);
  });

  it('is given back to the node that has the call when only that can go on', async () => {
    const { store } = await foreign(MAX_DELIVERY_ATTEMPTS);
    rig = await MediaRig.open({
      store,
      config: { media: { chats: [{ person: 'ada', channel: 'telegram', chatId: '7' }] } },
      media: { publish: () => Promise.reject(new Error('no such channel')) },
    });
    const callId = await rig.call({ strength: 'authenticated', id: 'ada' });
    await rig.send(callId);
    for (let n = 0; n < MAX_DELIVERY_ATTEMPTS; n += 1) await rig.deliver(BACKOFF_BASE_MS * 2 ** n);

    expect((await rig.rows(callId))[0]).toMatchObject({
      status: 'retryable',
      attemptRoute: 'spoken',
      lastError: 'unavailable',
    });
    expect(rig.spoken).toEqual([]);
  });
});
