/**
 * The built pages in a real browser, behind a gateway that does what the test says: what they show, what they say, and that
 * everybody can use them.
 */
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, launch } from '../web/browser.ts';
import { FakeGateway, refusal, SESSION } from '../web/fake-gateway.ts';
import { barriers, isTooWide, keepPicture } from '../web/look.ts';
import {
  approvalOf,
  CALL_ID,
  CONVERSATION,
  FILE_ID,
  fillOperator,
  PENDING,
  PICTURE_ID,
  png,
  REQUEST_ID,
  WELCOME,
} from '../web/samples.ts';

const SCREENS = [
  { name: 'phone', width: 390, height: 844 },
  { name: 'desktop', width: 1280, height: 800 },
] as const;
const LOOKS = SCREENS.flatMap((screen) =>
  (['light', 'dark'] as const).map((scheme) => ({ ...screen, scheme })),
);

describe.skipIf(!hasChromium)('the pages', () => {
  let browser: Browser;
  let gateway: FakeGateway;
  let context: BrowserContext;
  let page: Page;
  let trouble: string[];

  beforeAll(async () => {
    browser = await launch(['--host-resolver-rules=MAP voice.test 127.0.0.1']);
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    gateway = await FakeGateway.open();
    gateway.greeting = [WELCOME];
    gateway.answer('GET /page/session', SESSION);
    gateway.answer(
      'GET /media/p/picture',
      (_request: unknown, response: import('node:http').ServerResponse) => {
        response.writeHead(200, { 'content-type': 'image/png' });
        response.end(png(320, 180));
      },
    );
    trouble = [];
  });
  afterEach(async () => {
    await context?.close();
    await gateway.close();
  });

  async function open(path: string, options: Parameters<Browser['newContext']>[0] = {}, base = gateway.url) {
    context = await browser.newContext({ permissions: ['microphone'], reducedMotion: 'reduce', ...options });
    page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
        trouble.push(message.text());
    });
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('blob:'))
        trouble.push(`asked ${request.url()}`);
    });
    await page.goto(`${base}${path}`);
  }

  async function call(): Promise<void> {
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByText('On the line').waitFor({ state: 'attached' });
  }

  /** Until the page has said it. */
  async function said(type: string, count = 1): Promise<Record<string, unknown>[]> {
    const commands = () => gateway.commands.filter((command) => command.type === type);
    await expect.poll(() => commands().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
    return commands();
  }

  describe('Talk', () => {
    it('takes a guest’s code out of the address, and trades it for a session', async () => {
      gateway.answer('POST /page/session', { role: 'guest' });

      await open('/talk#code=abc-123');
      await page.getByRole('button', { name: 'Call' }).waitFor();

      expect(page.url()).not.toContain('abc-123');
      expect(gateway.requests.find(({ name }) => name === 'POST /page/session')?.body).toBe(
        '{"code":"abc-123"}',
      );
    });

    it('asks who is there, and logs the owner in', async () => {
      gateway.answer('GET /page/session', refusal(401, 'PAGE_AUTH_REQUIRED'));
      gateway.answer(
        'POST /operator/login',
        refusal(401, 'OPERATOR_AUTH_REQUIRED', 'That is not the operator’s token.'),
      );
      await open('/talk');
      await page.getByLabel('The operator’s token').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('That is not the operator’s token.').waitFor();
      expect(await barriers(page)).toEqual([]);

      gateway.answer('POST /operator/login', { role: 'owner' });
      gateway.answer('GET /page/session', SESSION);
      await page.keyboard.press('Enter');

      await page.getByRole('button', { name: 'Call' }).waitFor();
    });

    it('carries a whole call: sound both ways, captions, tools, pictures, files, keys, words, a decision', async () => {
      await open('/talk', { viewport: { width: 390, height: 844 } });
      await call();
      for (const event of CONVERSATION) gateway.tell(event);

      await page.getByText('Asks for your approval').waitFor();
      expect(await page.locator('.unheard').textContent()).toBe(' leaves at seven. Buy bread and coffee.');
      await page.getByText('Reading notes.txt').click();
      expect(await page.locator('.tool-inside').first().textContent()).toContain(
        'Call the dentist on Monday',
      );
      expect((await said('media.receipt', 2)).map(({ id }) => id).sort()).toEqual([PICTURE_ID, FILE_ID]);
      expect(await page.getByRole('link', { name: /Quarterly report/ }).getAttribute('download')).toBe(
        'Quarterly report.pdf',
      );
      await page.getByRole('button', { name: 'Approve' }).click();
      expect(await said('approval.decide')).toMatchObject([{ id: REQUEST_ID, approve: true }]);
      gateway.tell({ ...(PENDING as Extract<typeof PENDING, { type: 'approval' }>), status: 'executed' });
      await page.getByRole('heading', { name: 'Approved and done' }).waitFor();
      await page.getByRole('button', { name: 'Keypad' }).click();
      await page.keyboard.press('4');
      await page.getByRole('button', { name: 'star' }).click();
      await page.keyboard.press('Escape');
      expect((await said('dtmf', 2)).map(({ digit }) => digit)).toEqual(['4', '*']);
      await page.getByLabel('Type to the agent').fill('hello there');
      await page.keyboard.press('Enter');
      expect(await said('text')).toMatchObject([{ text: 'hello there' }]);
      await page.getByRole('button', { name: 'Mute' }).click();
      expect(await said('mute')).toMatchObject([{ muted: true }]);
      expect(gateway.frames).toBeGreaterThan(10);
      await page.getByRole('button', { name: 'Hang up' }).click();
      await said('hangup');
      await page.getByText('You hung up.').waitFor();
      expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
      expect(trouble).toEqual([]);
    });

    it('loses no key that follows the opening of the keypad at once', async () => {
      await open('/talk');
      await call();

      // As text: what runs in the page has no types here. The key is the very next thing that happens.
      await page.evaluate(`(async () => {
        [...document.querySelectorAll('button')].find((button) => button.textContent === 'Keypad').click();
        await new Promise((resolve) => setTimeout(resolve));
        dispatchEvent(new KeyboardEvent('keydown', { key: '7' }));
      })()`);

      expect(await said('dtmf')).toMatchObject([{ digit: '7' }]);
    });

    it('shows a guest no arguments, no result and no buttons', async () => {
      gateway.answer('GET /page/session', { ...SESSION, role: 'guest' });
      await open('/talk');
      await call();
      gateway.tell({ type: 'tool', callId: 't', name: 'read_file', phase: 'ended' });
      gateway.tell({ ...(PENDING as Extract<typeof PENDING, { type: 'approval' }>), canDecide: false });

      await page.getByText('The operator decides this.').waitFor();
      expect(await page.locator('details.tool').count()).toBe(0);
      expect(await page.getByRole('button', { name: /Approve|Deny/ }).count()).toBe(0);
      expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
    });

    it('comes back by itself when the line breaks, to the same call, and shows no picture twice', async () => {
      await open('/talk');
      await call();
      for (const event of CONVERSATION.slice(0, 8)) gateway.tell(event);
      await page.getByText('Test picture', { exact: true }).waitFor();
      gateway.greeting = [{ ...WELCOME, resumed: true } as typeof WELCOME];
      const first = gateway.page;

      first?.terminate();

      const hellos = await said('hello', 2);
      await page.getByText('The line is back.').first().waitFor();
      expect(hellos.at(-1)).toMatchObject({ shown: [PICTURE_ID] });
      expect(gateway.requests.filter(({ name }) => name === 'POST /page/calls')).toHaveLength(2);
      expect(await page.locator('.said').count()).toBe(4);
    });

    it('says why there is no microphone on a page without HTTPS, and how to get one', async () => {
      const base = gateway.url.replace('127.0.0.1', 'voice.test');
      await open('/talk', {}, base);

      await page.getByText('This address can’t use a microphone').waitFor();
      expect(await page.getByRole('alert').textContent()).toMatch(/server\.tls.*reverse proxy.*tunnel/);
      expect(await page.getByRole('button', { name: 'Call' }).count()).toBe(0);
    });

    it('shows the way out when the microphone is refused, and calls nobody', async () => {
      await open('/talk');
      await page.evaluate(
        `navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); }`,
      );
      await page.getByRole('button', { name: 'Call' }).click();

      await page.getByText('The microphone is blocked').waitFor();
      expect(await barriers(page)).toEqual([]);
      expect(gateway.requests.some(({ name }) => name === 'POST /page/calls')).toBe(false);
    });

    it.each(LOOKS)('can be used by everybody: $name, $scheme', async ({ name, width, height, scheme }) => {
      await open('/talk', { viewport: { width, height }, colorScheme: scheme });
      await page.getByRole('button', { name: 'Call' }).waitFor();
      const found = [...(await barriers(page))];
      await keepPicture(page, `talk-start-${name}-${scheme}`);
      await call();
      for (const event of CONVERSATION) gateway.tell(event);
      await page.getByRole('button', { name: 'Approve' }).waitFor();
      found.push(...(await barriers(page)));
      await keepPicture(page, `talk-call-${name}-${scheme}`);
      for (const button of ['Keypad', 'Devices']) {
        await page.getByRole('button', { name: button }).click();
        found.push(...(await barriers(page)));
        await page.keyboard.press('Escape');
      }
      const isWide = await isTooWide(page);

      expect(found).toEqual([]);
      expect(isWide).toBe(false);
      expect(trouble).toEqual([]);
    });
  });

  describe('Operate', () => {
    beforeEach(() =>
      fillOperator(gateway, readFileSync(new URL('../../assets/demo/ask-time.wav', import.meta.url))),
    );

    it.each(LOOKS)('can be used by everybody: $name, $scheme', async ({ name, width, height, scheme }) => {
      await open('/operator', { viewport: { width, height }, colorScheme: scheme });
      const found: string[] = [];
      const wide: string[] = [];
      for (const view of ['Calls', 'Approvals', 'Deliveries', 'Guests', 'Health', 'call']) {
        if (view === 'call') {
          await page.goto(`${gateway.url}/operator#calls/${CALL_ID}`);
          await page.locator('.timeline .callerwave').waitFor();
        } else {
          await page.getByRole('link', { name: view }).first().click();
          await page.getByRole('heading', { name: view, level: 1 }).waitFor();
          await page.locator('.table-frame, .rows, .board').first().waitFor();
        }
        found.push(...(await barriers(page)).map((each) => `${view}: ${each}`));
        if (await isTooWide(page)) wide.push(view);
        await keepPicture(page, `operate-${view.toLowerCase()}-${name}-${scheme}`);
      }

      expect(found).toEqual([]);
      expect(wide).toEqual([]);
      expect(trouble).toEqual([]);
    });

    it('decides by keyboard alone, and asks again first', async () => {
      let decision: unknown = null;
      gateway.answer(
        `POST /operator/api/approvals/${'a2'.repeat(16)}/decision`,
        (_request: unknown, response: import('node:http').ServerResponse, body: string) => {
          decision = JSON.parse(body);
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ approval: approvalOf('a2', 'Approved') }));
        },
      );
      await open('/operator#approvals');
      await page.locator('.card').first().focus();

      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('a');
      await page.getByRole('dialog').waitFor();
      expect(decision).toBeNull();
      await page.getByLabel('Always').check();
      await page.getByLabel('subject: The report is ready').uncheck();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).press('Enter');

      await page.getByRole('region', { name: 'Approved' }).getByRole('article').waitFor();
      expect(decision).toEqual({ decision: 'approve', scope: 'permanent', bindArguments: ['to'] });
    });

    it('follows what others decide, and counts what waits', async () => {
      await open('/operator#approvals');
      await page.getByRole('link', { name: /Approvals 2 waiting/ }).waitFor();

      for (const board of gateway.boards)
        board.send(JSON.stringify({ type: 'changed', approval: approvalOf('a1', 'Done') }));

      await page.getByRole('link', { name: /Approvals 1 waiting/ }).waitFor();
    });

    it('closes an unknown outcome as what a person says it was', async () => {
      gateway.answer(`POST /operator/api/approvals/${'a5'.repeat(16)}/resolution`, {
        approval: approvalOf('a5', 'Failed', { resolution: 'did_not_happen' }),
      });
      await open('/operator#approvals');
      await page.getByRole('button', { name: 'It didn’t' }).click();
      await page.getByRole('button', { name: 'No, it didn’t' }).click();

      await page.getByRole('region', { name: 'Failed' }).getByRole('article').waitFor();
      expect(gateway.requests.findLast(({ name }) => name.endsWith('/resolution'))?.body).toBe(
        '{"resolution":"did_not_happen"}',
      );
    });

    it('shows the login to whoever is not logged in, and no more', async () => {
      gateway.answer('GET /operator/api/session', refusal(401, 'OPERATOR_AUTH_REQUIRED'));
      await open('/operator');

      await page.getByLabel('The operator’s token').waitFor();
      expect(await barriers(page)).toEqual([]);
      expect(gateway.requests.filter(({ name }) => name.includes('/api/')).map(({ name }) => name)).toEqual([
        'GET /operator/api/session',
      ]);
    });
  });
});
