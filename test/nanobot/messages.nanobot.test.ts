/**
 * What the real nanobot's agent sends to people: files to a caller and to a chat of another channel, and messages that ring
 * somebody up who is not on the line.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorSecret } from '../../src/approval/index.ts';
import { cookieOf, PageDouble } from '../server/page/rig.ts';
import { dial, question } from './caller.ts';
import { NanobotRig, NOTE } from './rig.ts';

const ACCOUNT = `AC${'1'.repeat(32)}`;
const OURS = '+15550199';
const ADAS = '+15550142';
/** A number that its carrier vouches for, and the chat of its owner in nanobot's own page. */
const VOUCHED = '+15550100';
const CHAT = '6b1f5a52-0f3c-4c0e-9a53-0d0b9a3e5a11';

/** Twilio's REST interface, as far as a call that we place needs it. */
class TwilioDouble {
  /** Calls that we placed. */
  readonly placed: Record<string, string>[] = [];
  status = 201;
  readonly #server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.url?.endsWith('/Calls.json'))
      this.placed.push({ path: request.url, ...Object.fromEntries(new URLSearchParams(body)) });
    response.writeHead(this.status, { 'content-type': 'application/json' }).end('{"sid":"CA0R1"}');
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Ada can be rung up, over this double of Twilio's. */
const ringing = (baseUrl: string) => ({
  carriers: { twilio: { accountSid: ACCOUNT, authToken: 'nanobot-e2e-auth-token', baseUrl } },
  ring: { people: [{ chatId: 'ada', number: ADAS }], from: OURS },
});

describe('what the agent sends', () => {
  const twilio = new TwilioDouble();
  let rig: NanobotRig;

  beforeAll(async () => {
    const baseUrl = await twilio.listen();
    rig = await NanobotRig.start({
      realtime: {
        ...ringing(baseUrl),
        identity: { acceptAttestation: true, personSession: 'attested' },
        tools: { authorization: [{ tool: 'send_file' }] },
        media: { chats: [{ person: VOUCHED, channel: 'websocket', chatId: CHAT }] },
      },
    });
  });
  afterAll(async () => {
    twilio.close();
    await rig.remove();
  });

  const callVouched = async (callSid: string) => {
    const { carrier } = await dial(rig.url, callSid, {
      accountSid: ACCOUNT,
      from: VOUCHED,
      params: { StirVerstat: 'TN-Validation-Passed-A' },
    });
    if (!carrier) throw new Error('not connected');
    carrier.start();
    return carrier;
  };
  const message = (args: Record<string, unknown>) => ({
    tool: 'message',
    args: { channel: 'realtime', ...args },
  });

  it('a file that a caller asks for arrives at their chat in another channel as a message with media', async () => {
    const chat = await rig.web.watch(CHAT);
    const carrier = await callVouched('CA0S1');
    rig.voice.willDo([{ name: 'send_file', args: { path: 'note.txt' } }]);
    await carrier.speak(question());

    await rig.until(() => chat.length > 0);
    const [{ media = [], media_urls: urls = [] } = {}] = chat;

    expect(media).toEqual([expect.stringMatching(/\/\.nanobot\/realtime\/.*note\.txt$/)]);
    expect((await rig.web.bytesOf(urls[0]?.url ?? '')).toString()).toBe(NOTE);
    carrier.hangup();
    await carrier.whenClosed();
  });

  it('so does one that the agent sends to the caller by its own tool, at once', async () => {
    const chat = await rig.web.watch(CHAT);
    const carrier = await callVouched('CA0S2');
    await carrier.wait(200);
    rig.text.willSay(message({ chat_id: VOUCHED, content: 'Here it is.', media: ['note.txt'] }), {
      text: 'Sent.',
    });
    const begun = Date.now();
    expect(await rig.web.ask('ann', 'Send the note to who is on the phone')).toBe('Sent.');

    await rig.until(() => chat.length > 0);
    // A reply of the model's would be held back for twenty seconds.
    expect(Date.now() - begun).toBeLessThan(8000);
    const [{ text = '', media_urls: urls = [] } = {}] = chat;
    expect(text).toBe('Here it is.');
    expect((await rig.web.bytesOf(urls[0]?.url ?? '')).toString()).toBe(NOTE);
    carrier.hangup();
    await carrier.whenClosed();
  });

  it('a caller on a page of ours sees it there', async () => {
    const token = await new OperatorSecret(join(rig.home.data, 'realtime')).renew(Date.now());
    const post = (path: string, body: unknown, headers: Record<string, string>) =>
      fetch(`${rig.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: rig.url, ...headers },
        body: JSON.stringify(body),
      });
    const cookie = cookieOf(await post('/operator/login', { token }, {}));
    const admitted = await post('/page/calls', { transport: 'socket' }, { cookie });
    expect(admitted.status).toBe(201);
    const { socket } = (await admitted.json()) as { socket: string };
    const page = new PageDouble(`${rig.url.replace('http', 'ws')}${socket}`, rig.url);
    await page.opened;
    page.say({ type: 'hello', v: 1, shown: [] });
    await page.next('welcome');
    rig.text.willSay(message({ chat_id: 'owner', content: 'Your note.', media: ['note.txt'] }), {
      text: 'Sent.',
    });
    const begun = Date.now();
    expect(await rig.web.ask('ann', 'Send the note to me')).toBe('Sent.');

    await rig.until(() => page.events.some(({ type }) => type === 'media'));
    expect(Date.now() - begun).toBeLessThan(8000);
    const shown = await page.next('media');
    expect(shown).toMatchObject({ name: 'note.txt', caption: 'Your note.' });
    const opened = await fetch(`${rig.url}${shown.url}`, { headers: { cookie: cookieOf(admitted) } });
    expect(await opened.text()).toBe(NOTE);
    page.close(1000);
    await page.closed;
  });

  it('rings who is not on the line, and whoever answers hears it', async () => {
    rig.text.willSay(message({ chat_id: 'ada', content: 'Your parcel has arrived.' }), { text: 'I rang.' });
    expect(await rig.web.ask('ann', 'Tell Ada')).toBe('I rang.');
    await rig.until(() => twilio.placed.length > 0);

    const { Url: webhook = '', ...placed } = twilio.placed[0] ?? {};
    expect(placed).toEqual({
      path: `/2010-04-01/Accounts/${ACCOUNT}/Calls.json`,
      To: ADAS,
      From: OURS,
      Timeout: '30',
    });
    const { carrier } = await dial(rig.url, 'CA0R1', {
      accountSid: ACCOUNT,
      webhookUrl: `${rig.url}${new URL(webhook).pathname}`,
      from: OURS,
      to: ADAS,
    });
    if (!carrier) throw new Error('not connected');
    carrier.start();
    await carrier.whenAgentSpeaks();
    await carrier.whenAgentIdle();
    expect(carrier.heard().length / 8).toBeGreaterThan(800);
    expect(carrier.violations).toEqual([]);
    carrier.hangup();
    await carrier.whenClosed();
  });

  it('rings nobody whom the config does not list: it waits in their session, and the log says so', async () => {
    const seen = rig.gateway.output.length;
    rig.text.willSay(message({ chat_id: 'bob', content: 'Come home.' }), { text: 'Left.' });
    expect(await rig.web.ask('ann', 'Tell Bob')).toBe('Left.');

    await rig.until(() => rig.home.sessions().has('realtime:bob'));
    const rows = rig.home.sessions().get('realtime:bob') ?? [];
    expect(rows.map(({ role, content }) => [role, content])).toEqual([['assistant', 'Come home.']]);
    expect(rig.since(seen)).toContain('rings nobody for it: it waits in the session');
    expect(twilio.placed).toHaveLength(1);
  });

  it('does not lose one that the carrier refuses to ring for', async () => {
    const seen = rig.gateway.output.length;
    twilio.status = 400;
    rig.text.willSay(message({ chat_id: 'ada', content: 'It is heavy.' }), { text: 'I tried.' });
    expect(await rig.web.ask('ann', 'Tell Ada more')).toBe('I tried.');

    await rig.until(() => rig.home.sessions().has('realtime:ada'));
    const rows = rig.home.sessions().get('realtime:ada') ?? [];
    expect(rows.map(({ content }) => content)).toEqual(['It is heavy.']);
    expect(rig.since(seen)).toContain('a call could not be placed {"code": "CARRIER_REFUSED"}');
  });

  it('leaves nothing when it stops', () => rig.stop());
});

describe('a job of nanobot’s own clock', () => {
  const twilio = new TwilioDouble();
  let rig: NanobotRig;

  beforeAll(async () => {
    const baseUrl = await twilio.listen();
    rig = await NanobotRig.start({
      realtime: {
        ...ringing(baseUrl),
      },
      before: ({ workspace }) => {
        mkdirSync(join(workspace, 'cron'), { recursive: true });
        writeFileSync(
          join(workspace, 'cron', 'jobs.json'),
          JSON.stringify({
            version: 1,
            jobs: [
              {
                id: 'job1',
                name: 'parcel',
                enabled: true,
                schedule: { kind: 'every', everyMs: 4000 },
                payload: {
                  kind: 'agent_turn',
                  message: 'Tell Ada about her parcel.',
                  sessionKey: 'realtime:ada',
                  originChannel: 'realtime',
                  originChatId: 'ada',
                },
                state: {},
              },
            ],
          }),
        );
      },
      firstTurn: false,
    });
  });
  afterAll(async () => {
    twilio.close();
    await rig.remove();
  });

  it('rings its person up', async () => {
    rig.text.willSay({ text: 'Your parcel has arrived.' });

    await rig.until(() => twilio.placed.length > 0);

    expect(twilio.placed[0]).toMatchObject({ To: ADAS, From: OURS });
    const rows = rig.home.sessions().get('realtime:ada') ?? [];
    expect(rows.map(({ content }) => content)).toContain('Your parcel has arrived.');
  });

  it('leaves nothing when it stops', () => rig.stop());
});
