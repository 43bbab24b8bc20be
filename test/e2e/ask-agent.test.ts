/**
 * The voice model hands a whole request to the agent behind it: `npm start` with a language model for text, a phone call
 * on one side and both models on the other.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

const AUTH_TOKEN = 'e2e-auth-token';
const API_KEY = 'e2e-api-key';

interface ChatBody {
  readonly messages: readonly { role: string; content: string | null }[];
}

describe('a request that goes to the agent behind, over npm start', () => {
  const model = new FakeModel({ apiKey: API_KEY });
  const asked: ChatBody[] = [];
  let home: TestHome;
  let gateway: GatewayProcess;
  let chat: Server;
  let url = '';
  let audioFile = '';

  beforeAll(async () => {
    model.onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('Here is what I found.', { durationMs: 900 })];
      return trigger === 'speech'
        ? [say('Let me ask.', { durationMs: 400 }), call('ask_agent', { request: 'Where is the spare key?' })]
        : [];
    });
    const baseUrl = await model.listen();
    // The language model reads a file first, and then answers.
    chat = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      asked.push(JSON.parse(body));
      const read = {
        id: 'c',
        type: 'function',
        function: { name: 'read_file', arguments: '{"path":"note.txt"}' },
      };
      const message =
        asked.length === 1
          ? { content: null, tool_calls: [read] }
          : { content: 'The key is under the third flower pot.' };
      response.end(JSON.stringify({ choices: [{ message }] }));
    });
    await new Promise<void>((resolve) => chat.listen(0, '127.0.0.1', resolve));
    const { port } = chat.address() as AddressInfo;
    home = new TestHome({});
    writeFileSync(
      home.config,
      JSON.stringify({
        agents: { defaults: { model: 'local' } },
        providers: { custom: { apiBase: `http://127.0.0.1:${port}/v1` } },
        channels: {
          realtime: {
            server: { port: 0 },
            model: { provider: 'openai-compatible', baseUrl, apiKey: API_KEY },
            // biome-ignore lint/suspicious/noTemplateCurlyInString: the config's own notation for a variable
            carriers: { twilio: { authToken: '${TWILIO_AUTH_TOKEN}' } },
            greeting: '',
            tools: { mode: 'delegate' },
          },
        },
      }),
    );
    mkdirSync(home.workspace, { recursive: true });
    writeFileSync(join(home.workspace, 'note.txt'), 'The spare key is under the third flower pot.');
    audioFile = join(home.folder, 'caller.ulaw');
    writeFileSync(audioFile, encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
    gateway = new GatewayProcess(home, { TWILIO_AUTH_TOKEN: AUTH_TOKEN });
    url = await gateway.listening();
  });

  afterAll(async () => {
    gateway?.child.kill('SIGKILL');
    chat?.closeAllConnections();
    chat?.close();
    await model.close();
    home?.remove();
  });

  it('is answered by its own steps and tools, and the caller hears the answer', async () => {
    const result = await placeOutsideCall({
      url,
      authToken: AUTH_TOKEN,
      audioFile,
      frames: 260,
      callSid: 'CA01',
    });

    expect(result.upgradeStatus).toBe(101);
    const { session } = model;
    const outputs = session
      .receivedOf('conversation.item.create')
      .flatMap(({ item }) => (item.type === 'function_call_output' ? [item.output] : []));
    expect(outputs).toEqual(['The key is under the third flower pot.']);
    expect(model.violations).toEqual([]);
    // What it was asked for, with the result of its own tool.
    expect(asked).toHaveLength(2);
    expect(asked[0]!.messages.at(-1)).toEqual({ role: 'user', content: 'Where is the spare key?' });
    expect(asked[1]!.messages.at(-1)!.content).toContain('third flower pot');
    expect(result.heardBytes).toBeGreaterThan(8000);
  });

  it('sees only the agent, and no tool of its own', () => {
    const update = model.session.receivedOf('session.update')[0]!;
    const names = (update.session.tools ?? []).map((tool) => ('name' in tool ? tool.name : tool.type));

    expect(names).toEqual(['ask_agent', 'stop_working', 'end_call']);
  });

  it('is in the session that the call belongs to', async () => {
    expect(await gateway.stop()).toBe(0);

    const folder = join(home.folder, '.nanobot', 'realtime', 'sessions');
    const rows = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
    const said = rows.filter((row) => row.includes('third flower pot'));
    expect(said.some((row) => row.includes('"role":"assistant"'))).toBe(true);
    expect(rows.some((row) => row.includes('Where is the spare key?') && row.includes('"role":"user"'))).toBe(
      true,
    );
  });
});
