import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { closePageRigs, pageRig, until } from './rig.ts';

afterEach(closePageRigs);

describe('a picture of a call', () => {
  it('is shown on its page, which says so; opens in this browser and in no other; comes once', async () => {
    const rig = await pageRig({ media: true });
    const headers = await rig.owner();
    const page = await rig.call(headers);
    const { callId } = await page.next('welcome');
    await page.greeted();

    page.say({ type: 'text', text: 'use send_test_image' });
    const picture = await page.next('media');

    expect(picture).toMatchObject({ kind: 'image', mime: 'image/png', segment: expect.any(Number) });
    const opened = await rig.get(picture.url, { cookie: page.mediaCookie });
    expect(opened.status).toBe(200);
    const bytes = Buffer.from(await opened.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(picture.sha256);
    expect((await rig.get(picture.url)).status).toBe(404);
    const other = await rig.call(await rig.guest());
    expect((await rig.get(picture.url, { cookie: other.mediaCookie })).status).toBe(404);

    page.say({ type: 'media.receipt', id: picture.id });
    await until('it counts as sent', async () => (await rig.store.getOutbox(picture.id))?.status === 'sent');
    page.cut();
    await until('it is lost', () => rig.desk.call(callId)?.isAttached === false);
    const back = await rig.call(headers, { callId, shown: [picture.id] });
    back.say({ type: 'text', text: 'hello' });
    await back.next('transcript', ({ text }) => text === 'Okay.');
    expect(back.events.filter(({ type }) => type === 'media')).toEqual([]);
    other.close(1000);
  });

  it('has an address behind the path of the public one', async () => {
    const rig = await pageRig({
      media: true,
      config: { server: { publicUrl: 'https://voice.example/phone' } },
    });
    const bearer = { authorization: `Bearer ${rig.token}` };
    const answer = await rig.post('/page/calls', { transport: 'socket' }, bearer);
    expect(answer.headers.get('set-cookie')).toMatch(/^nrt_page=\S+; Path=\/phone\/media; .*; Secure$/);
    expect(await answer.json()).toMatchObject({ socket: expect.stringMatching(/^\/phone\/page\/socket\//) });
  });
});
