import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { MAX_LINK_OPENS, PAGE_LINK_MS } from '../../../src/media/index.ts';
import { FakeMessaging } from '../../../src/testing/fake-messaging.ts';
import { NUMBER } from '../../media/rig.ts';
import { PNG } from '../../media/support.ts';
import { connectPage, type MediaServerRig, openMediaServer, pageHeaders } from './rig.ts';

let rig: MediaServerRig;
let carrier: FakeMessaging | null = null;
afterEach(async () => {
  await rig.close();
  await carrier?.close();
  carrier = null;
});

const CAN_NOT_ACT = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** A picture or file that was sent to a page that shows it; its link. */
async function shown(prepare?: (workspace: string) => string) {
  rig = await openMediaServer();
  const { media } = rig;
  const callId = await media.call({ hasPage: true });
  const page = await connectPage(rig, callId);
  if (prepare) await media.send(callId, 'send_file', { path: prepare(media.workspace) });
  else await media.send(callId);
  media.media.poke();
  const event = await page.next();
  return { callId, event, page, url: rig.url + event.url };
}

describe("the page's link", () => {
  it('gives the picture to the page it was made for, in line', async () => {
    const { callId, url } = await shown();

    const answer = await fetch(url, { headers: pageHeaders(rig, callId) });

    expect(answer.status).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...CAN_NOT_ACT,
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'content-disposition': `inline; filename="test-picture.png"; filename*=UTF-8''test-picture.png`,
    });
  });

  it.each([
    ['HTML', 'page.html', '<!doctype html><script>alert(1)</script>', 'text/plain; charset=utf-8'],
    [
      'SVG',
      'x.svg',
      '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      'text/plain; charset=utf-8',
    ],
    ['HTML that calls itself a PNG', 'x.png', '<script>alert(1)</script>', 'text/plain; charset=utf-8'],
    ['a PDF', 'a.pdf', '%PDF-1.7', 'application/pdf'],
    ['a GIF', 'a.gif', 'GIF89a', 'image/gif'],
  ])('gives %s as a download that can do nothing', async (_, name, content, type) => {
    const { callId, url } = await shown((workspace) => {
      writeFileSync(join(workspace, name), content);
      return name;
    });

    const answer = await fetch(url, { headers: pageHeaders(rig, callId) });

    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
    expect(Object.fromEntries(answer.headers)).toMatchObject(CAN_NOT_ACT);
  });

  it('is nothing without the session, for another call, changed in any part, or after its time', async () => {
    const { callId, url, event } = await shown();
    const other = await rig.media.call({ hasPage: true });
    const [path = '', expiry = '', mac = ''] = event.url.split('.');
    const at = (link: string, headers: Record<string, string>) => fetch(rig.url + link, { headers });
    const mine = pageHeaders(rig, callId);
    const flipped = mac.startsWith('A') ? `B${mac.slice(1)}` : `A${mac.slice(1)}`;

    const answers = await Promise.all([
      fetch(url),
      fetch(url, { headers: pageHeaders(rig, other) }),
      fetch(url, { headers: { cookie: 'nrt_page=forged.zzzzzzzz.AAAAAAAAAAAAAAAAAAAAAA' } }),
      at(`${path}.${expiry}.${flipped}`, mine),
      at(`${path}.${(Number.parseInt(expiry, 36) + 1).toString(36)}.${mac}`, mine),
      at(`${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}.${expiry}.${mac}`, mine),
      // Another purpose: what a page may see, a carrier's or a reader's address does not give.
      at(event.url.replace('/p/', '/c/'), {}),
      at(event.url.replace('/p/', '/m/'), {}),
      at('/media/p/nonsense', mine),
    ]);
    await rig.media.clock.advance(PAGE_LINK_MS);
    answers.push(await fetch(url, { headers: mine }));

    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(404));
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toContain('MEDIA_NOT_FOUND');
  });
});

describe("the page's socket", () => {
  const upgrade = async (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const ws = new WebSocket(`${rig.url.replace('http', 'ws')}/media/live`, { headers });
      ws.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
      ws.on('open', () => {
        ws.close();
        resolve(101);
      });
      ws.on('error', reject);
    });

  it('is open to a page of ours with the session of a call, and to nobody else', async () => {
    rig = await openMediaServer();
    const callId = await rig.media.call({ hasPage: true });
    const { cookie = '' } = pageHeaders(rig, callId);

    expect(await upgrade({ cookie, origin: rig.url })).toBe(101);
    expect(await upgrade({ cookie })).toBe(403);
    expect(await upgrade({ cookie, origin: 'https://evil.example' })).toBe(403);
    expect(await upgrade({ origin: rig.url })).toBe(404);
    expect(await upgrade({ cookie: `${cookie}x`, origin: rig.url })).toBe(404);
  });

  it('of a page that comes back with a picture shown already is not sent it again', async () => {
    const { callId, event, page } = await shown();
    await page.close();

    const again = await connectPage(rig, callId, [event.id]);
    await rig.media.deliver(1000);

    expect(again.count).toBe(0);
    expect(await rig.media.rows(callId)).toMatchObject([{ status: 'sent', attempts: 1 }]);
  });
});

describe('MMS and SMS, from the tool to the carrier and back', () => {
  const open = async (mmsPrefixes: string[]) => {
    carrier = await FakeMessaging.listen({
      now: () => rig.media.clock.wallNow(),
      resolveUrl: (url) => url.replace('http://voice.example', rig.url),
    });
    const { accountSid, authToken, baseUrl } = carrier;
    rig = await openMediaServer({
      consent: [NUMBER],
      messaging: { accountSid, authToken, baseUrl, from: '+15550100999', mmsPrefixes },
    });
    const callId = await rig.media.call({ strength: 'attested', id: NUMBER });
    await rig.media.send(callId);
    await rig.media.deliver();
    await carrier.fetched();
    return carrier;
  };

  it('the carrier fetches the picture by a link of its own, with a length and a type', async () => {
    const { messages } = await open(['+1']);

    expect(messages).toMatchObject([{ status: 'sent', media: { type: 'image/png' } }]);
    expect(messages[0]?.media?.bytes.equals(PNG)).toBe(true);
  });

  it('the link in an SMS opens a page with a button, which gives the picture a few times', async () => {
    const { messages } = await open(['+44']);
    const link = (messages[0]?.body.split('\n')[1] ?? '').replace('http://voice.example', rig.url);

    // Previews look, as often as they like, and use nothing up.
    for (let n = 0; n < 2 * MAX_LINK_OPENS; n += 1) {
      const page = await fetch(link);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await page.text()).toMatch(/<form method="post"><button>/);
    }
    const opens = [];
    for (let n = 0; n <= MAX_LINK_OPENS; n += 1) {
      const answer = await fetch(link, { method: 'POST' });
      opens.push(answer.status === 200 && Buffer.from(await answer.arrayBuffer()).equals(PNG));
    }

    expect(opens).toEqual([...Array(MAX_LINK_OPENS).fill(true), false]);
  });

  it('a look without its body uses nothing up', async () => {
    const { messages } = await open(['+44']);
    const link = (messages[0]?.body.split('\n')[1] ?? '').replace('http://voice.example', rig.url);

    const status = await new Promise((resolve) =>
      httpRequest(link, { method: 'HEAD' }, (response) => resolve(response.statusCode)).end(),
    );

    expect(status).toBe(200);
    expect((await rig.media.store.listOutbox())[0]?.opens).toBe(0);
  });

  describe('whose carrier says later what became of them', () => {
    const settle = async (callId: string) => {
      // The report is written down behind its answer, and the next attempt follows it.
      for (let n = 0; n < 4; n += 1) await rig.media.deliver(1000);
      return (await rig.media.rows(callId))[0]!;
    };
    const sentTo = async (mmsPrefixes: string[]) => {
      const { messages } = await open(mmsPrefixes);
      const [row] = await rig.media.store.listOutbox();
      return { messages, callId: row!.event.callId };
    };

    it('are delivered: that is on record, and nothing is sent again', async () => {
      const { messages, callId } = await sentTo(['+1']);
      for (const status of ['sent', 'delivered', 'delivered', 'failed'] as const)
        expect(await carrier!.report(messages[0]!, status)).toBe(204);
      const row = await settle(callId);

      expect(row).toMatchObject({ status: 'sent', receipt: 'delivered', deliveredBy: 'mms' });
      expect(messages).toHaveLength(1);
      const audit = await rig.media.store.listMediaAudit({ callId });
      expect(audit.filter(({ type }) => type === 'delivery.reconciled')).toMatchObject([
        { detail: 'delivered' },
      ]);
    });

    it('reached nobody: the next way is taken, and after the last the caller is told on the line', async () => {
      const { messages, callId } = await sentTo(['+1']);
      expect(await carrier!.report(messages[0]!, 'undelivered', { errorCode: '30007' })).toBe(204);
      expect(await settle(callId)).toMatchObject({ status: 'sent', deliveredBy: 'sms' });
      expect(messages).toHaveLength(2);
      // A late word about the first one is none about the second.
      await carrier!.report(messages[0]!, 'delivered');
      expect((await settle(callId)).receipt).toBeNull();

      await carrier!.report(messages[1]!, 'failed', { errorCode: '30003' });
      expect(await settle(callId)).toMatchObject({ status: 'sent', deliveredBy: 'spoken' });
      expect(rig.media.spoken).toHaveLength(1);
    });

    it('reached nobody after the hang-up: the delivery is a dead letter', async () => {
      const { messages, callId } = await sentTo(['+44']);
      rig.media.live.clear();
      await carrier!.report(messages[0]!, 'failed');

      expect(await settle(callId)).toMatchObject({ status: 'dead_letter', lastError: 'call_ended' });
      expect(messages).toHaveLength(1);
    });

    it('is believed only from the carrier', async () => {
      const { messages, callId } = await sentTo(['+1']);
      expect(await carrier!.report(messages[0]!, 'failed', { authToken: 'guessed' })).toBe(403);

      expect(await settle(callId)).toMatchObject({ status: 'sent', receipt: null, deliveredBy: 'mms' });
      expect(messages).toHaveLength(1);
    });
  });
});
