import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decodePng } from './png.ts';
import { type MediaServerRig, openMediaServer, pageHeaders } from './rig.ts';

const CHROMIUM = process.env.TEST_CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(CHROMIUM)) console.warn(`Browser tests skipped: there is no ${CHROMIUM} (TEST_CHROMIUM).`);

/** The least page that speaks the protocol: shows each delivery once, says so, and remembers over a reload. */
const PAGE = `<!doctype html><title>call</title><main></main><script>
  const shown = JSON.parse(sessionStorage.getItem('shown') ?? '[]');
  const ws = new WebSocket(location.origin.replace('http', 'ws') + '/media/live');
  ws.onopen = () => ws.send(JSON.stringify({ type: 'hello', shown }));
  ws.onmessage = async ({ data }) => {
    const event = JSON.parse(data);
    const receipt = () => ws.send(JSON.stringify({ type: 'media.receipt', id: event.id }));
    if (shown.includes(event.id)) return receipt();
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = event.caption;
    if (['image/png', 'image/jpeg', 'image/webp'].includes(event.mime)) {
      const image = new Image();
      image.src = event.url;
      await image.decode();
      figure.append(image);
    } else {
      const link = document.createElement('a');
      link.href = event.url;
      link.download = event.name;
      link.textContent = event.name;
      figure.append(link);
    }
    figure.append(caption);
    document.querySelector('main').append(figure);
    shown.push(event.id);
    sessionStorage.setItem('shown', JSON.stringify(shown));
    receipt();
  };
</script>`;

describe.skipIf(!existsSync(CHROMIUM))('a real browser', () => {
  let browser: Browser;
  let rig: MediaServerRig;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      // The page is put in by the test, so that the browser can't tell that it lies on loopback as the rest does.
      args: ['--no-sandbox', '--disable-features=LocalNetworkAccessChecks'],
    });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await rig.close();
  });

  async function openPage(callId: string): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 400, height: 320 } });
    const [name = '', value = ''] = (pageHeaders(rig, callId).cookie ?? '').split('=', 2);
    await context.addCookies([
      { name, value, domain: '127.0.0.1', path: '/media', httpOnly: true, sameSite: 'Strict' },
    ]);
    const page = await context.newPage();
    await page.route(`${rig.url}/`, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
    await page.goto(`${rig.url}/`);
    return page;
  }

  /** Virtual time stands still; deliveries are looked for until the page has what it is to have. */
  async function settle(callId: string): Promise<void> {
    for (;;) {
      rig.media.media.poke();
      const rows = await rig.media.rows(callId);
      if (rows.every(({ status }) => status === 'sent')) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('shows the picture that the tool sent, once, with its caption, and its receipt makes it sent', async () => {
    rig = await openMediaServer();
    const callId = await rig.media.call({ hasPage: true });
    const page = await openPage(callId);
    await rig.media.send(callId);
    await settle(callId);

    expect(await page.locator('figcaption').allTextContents()).toEqual(['Test picture']);
    const image = page.locator('img');
    expect(
      await page.evaluate('[document.images[0].naturalWidth, document.images[0].naturalHeight]'),
    ).toEqual([320, 240]);
    const screenshot = await image.screenshot();
    const { width, pixel } = decodePng(screenshot);
    expect(width).toBe(320);
    // The colour bars of the test picture, where they belong.
    expect([pixel(30, 80), pixel(74, 80), pixel(160, 80), pixel(290, 80)]).toEqual([
      [192, 192, 192],
      [192, 192, 0],
      [0, 192, 0],
      [0, 0, 192],
    ]);
    expect(await rig.media.rows(callId)).toMatchObject([
      { status: 'sent', deliveredBy: 'page', attempts: 1 },
    ]);

    await page.reload();
    await page.waitForFunction("sessionStorage.getItem('shown') !== null");
    expect(await rig.media.rows(callId)).toMatchObject([{ attempts: 1 }]);
  });

  it('runs nothing of a file that is a page of its own: it is a download', async () => {
    rig = await openMediaServer();
    writeFileSync(join(rig.media.workspace, 'evil.html'), '<script>document.cookie="owned=1"</script>');
    const callId = await rig.media.call({ hasPage: true });
    const page = await openPage(callId);
    await rig.media.send(callId, 'send_file', { path: 'evil.html' });
    await settle(callId);

    const href = await page.locator('a').getAttribute('href');
    const download = page.waitForEvent('download');
    // Opened as a page, not through the link's own download attribute.
    await page.goto(`${rig.url}${href}`).catch(() => {});

    expect((await download).suggestedFilename()).toBe('evil.txt');
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual(['nrt_page']);
  });
});
