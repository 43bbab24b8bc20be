import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const AUTH_TOKEN = 'e2e-auth-token';
const API_KEY = 'e2e-api-key';
const FILE_TEXT = 'The spare key is under the third flower pot.';
/** The agent answers with this, and the caller speaks in that. */
const ANSWER_HZ = 660;
const CALLER_HZ = 300;

/** How much of the sound is a tone of this frequency, 0 to 1 (Goertzel). */
function share(samples: Int16Array, hz: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / 8000);
  let [previous, beforeThat, energy] = [0, 0, 0];
  for (const sample of samples) {
    const next = sample + coefficient * previous - beforeThat;
    beforeThat = previous;
    previous = next;
    energy += sample * sample;
  }
  const power = previous ** 2 + beforeThat ** 2 - coefficient * previous * beforeThat;
  return energy === 0 ? 0 : (2 * power) / (energy * samples.length);
}

/** The longest run of 100 ms windows that are that tone, in ms. */
function toneMs(ulaw: Buffer, hz: number): number {
  const samples = decodeG711(ulaw, 'pcmu');
  let [run, longest] = [0, 0];
  for (let at = 0; at + 800 <= samples.length; at += 800) {
    run = share(samples.subarray(at, at + 800), hz) > 0.8 ? run + 100 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

describe("a call with Twilio's messages against npm start", () => {
  const model = new FakeModel({ apiKey: API_KEY });
  let home: TestHome;
  let gateway: GatewayProcess;
  let url = '';
  let audioFile = '';

  beforeAll(async () => {
    model.onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('It is in the file.', { durationMs: 1200, hz: ANSWER_HZ })];
      return trigger === 'speech' ? [call('read_file', { path: 'note.txt' })] : [];
    });
    const baseUrl = await model.listen();
    home = new TestHome({
      server: { port: 0 },
      model: { provider: 'openai-compatible', baseUrl, apiKey: API_KEY },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the config's own notation for a variable
      carriers: { twilio: { authToken: '${TWILIO_AUTH_TOKEN}' } },
      greeting: '',
    });
    writeFileSync(join(home.workspace, 'note.txt'), FILE_TEXT);
    audioFile = join(home.folder, 'caller.ulaw');
    writeFileSync(audioFile, encodeG711(tone(1000, CALLER_HZ, 8000, 0.5).samples, 'pcmu'));
    gateway = new GatewayProcess(home, { TWILIO_AUTH_TOKEN: AUTH_TOKEN });
    url = await gateway.listening();
  });

  afterAll(async () => {
    gateway?.child.kill('SIGKILL');
    await model.close();
    home?.remove();
  });

  it('says in plain words what it is connected to and how to call it', () => {
    expect(gateway.stdout).toContain(home.config);
    expect(gateway.stdout).toMatch(/Model {6}\S+/);
    expect(gateway.stdout).toMatch(/Agent {6}\S+/);
    expect(gateway.stdout).toContain('/twilio/voice');
    expect(gateway.stdout + gateway.stderr).not.toContain(API_KEY);
    expect(gateway.stdout + gateway.stderr).not.toContain(AUTH_TOKEN);
  });

  it('runs a tool of the agent, and the answer is heard', async () => {
    const result = await placeOutsideCall({
      url,
      authToken: AUTH_TOKEN,
      audioFile,
      frames: 220,
      callSid: 'CA01',
    });

    expect(result).toMatchObject({ webhookStatus: 200, upgradeStatus: 101 });
    const { session } = model;
    const outputs = session
      .receivedOf('conversation.item.create')
      .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));
    expect(outputs).toEqual([expect.stringContaining(FILE_TEXT)]);
    const heard = Buffer.from(result.heard ?? '', 'base64');
    expect(toneMs(heard, ANSWER_HZ)).toBeGreaterThanOrEqual(1000);
    // The measure can fail: nothing that was heard is the caller's own tone.
    expect(toneMs(heard, CALLER_HZ)).toBe(0);
    expect(model.violations).toEqual([]);
  });

  it('and the same without a valid token gets nothing, and the model hears nothing', async () => {
    for (const token of ['wrong', 'none'] as const) {
      const before = model.sessions.length;
      const callSid = `CA02${token}`;
      const result = await placeOutsideCall({
        url,
        authToken: AUTH_TOKEN,
        audioFile,
        frames: 50,
        token,
        callSid,
      });
      expect(result.heardBytes).toBe(0);
      expect([result.upgradeStatus, result.closeCode]).toEqual(token === 'wrong' ? [401, null] : [101, 1008]);
      for (const session of model.sessions.slice(before)) expect(session.inputMs).toBe(0);
    }
    const unsigned = await placeOutsideCall({ url, authToken: 'guessed', callSid: 'CA03' });
    expect(unsigned.webhookStatus).toBe(403);
  });

  it('ends in good order on SIGTERM, with nothing of the caller in its output', async () => {
    expect(await gateway.stop()).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    const output = gateway.stdout + gateway.stderr;
    for (const secret of ['5550100', 'flower pot', AUTH_TOKEN, API_KEY]) expect(output).not.toContain(secret);
    expect(readdirSync(home.workspace)).toEqual(['note.txt']);
  });
});
