/**
 * The config file of a running gateway is edited in the middle of a call: `npm start` in a process of its own, a phone call,
 * an agent that writes a file after each edit.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { call, FakeModel, say, tone } from '../../src/testing/index.ts';
import { placeOutsideCall } from '../server/outside-caller.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';

/** What the agent does next: the name of a file to write, after whatever has to be so. */
type Step = () => Promise<string>;

describe('an edit of the config while a call runs', { timeout: 90_000 }, () => {
  const undo: (() => unknown)[] = [];
  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each();
  });

  async function setUp(requireApproval: string[] | null) {
    const model = new FakeModel({ apiKey: 'k' });
    model.onTurn(({ trigger, toolOutputs }) => {
      if (toolOutputs.length > 0) return [say('Done.', { durationMs: 300 })];
      return trigger === 'speech' ? [call('ask_agent', { request: 'Write the files.' })] : [];
    });
    const baseUrl = await model.listen();
    undo.push(() => model.close());
    const steps: Step[] = [];
    const failures: unknown[] = [];
    /** What the agent read after each step. */
    const outputs: string[] = [];
    const chat: Server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
      const last = messages.at(-1)!;
      if (last.role === 'tool') outputs.push(last.content);
      const path = await steps
        .shift()?.()
        .catch((error: unknown) => void failures.push(error));
      const args = JSON.stringify({ path, content: 'x' });
      const message = path
        ? {
            content: null,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'write_file', arguments: args } }],
          }
        : { content: 'Written.' };
      response.end(JSON.stringify({ choices: [{ message }] }));
    });
    await new Promise<void>((resolve) => chat.listen(0, '127.0.0.1', resolve));
    undo.push(() => {
      chat.closeAllConnections();
      chat.close();
    });
    const { port } = chat.address() as AddressInfo;
    const home = new TestHome({});
    undo.push(() => home.remove());
    const text = (designated: string[] | null) =>
      JSON.stringify({
        agents: { defaults: { model: 'local' } },
        providers: { custom: { apiBase: `http://127.0.0.1:${port}/v1` } },
        channels: {
          realtime: {
            server: { port: 0 },
            model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
            carriers: { twilio: { authToken: 'e2e' } },
            greeting: '',
            tools: { mode: 'delegate' },
            ...(designated && { approvals: { toolGate: { requireApproval: designated } } }),
          },
        },
      });
    /** As careful editors do. */
    const replace = (content: string) => {
      writeFileSync(`${home.config}.new`, content);
      renameSync(`${home.config}.new`, home.config);
    };
    /** As the others do: half of it first. */
    const overwrite = (content: string) => {
      writeFileSync(home.config, content.slice(0, 100));
      writeFileSync(home.config, content);
    };
    replace(text(requireApproval));
    const gateway = new GatewayProcess(home);
    undo.push(() => gateway.child.kill('SIGKILL'));
    const url = await gateway.listening();
    const token = /shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1] ?? '';
    const api = async (path: string, method = 'GET') => {
      const response = await fetch(`${url}/operator/api/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      return response.json();
    };
    const policy = async () =>
      ((await api('approvals')) as { policy: { version: string; editWaits: boolean; editBroken: boolean } })
        .policy;
    const until = (shown: Partial<Awaited<ReturnType<typeof policy>>>) =>
      expect.poll(policy, { timeout: 15_000, interval: 100 }).toMatchObject(shown);
    const isThere = (name: string) => existsSync(join(home.workspace, name));
    const audioFile = join(home.folder, 'caller.ulaw');
    writeFileSync(audioFile, encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
    /** A caller who stays on the line until the agent has read what came of every step. */
    const placeCall = async () => {
      const count = steps.length;
      const call_ = placeOutsideCall({ url, authToken: 'e2e', audioFile, frames: 2000, callSid: 'CA01' });
      const over = call_.catch(() => {});
      await expect.poll(() => outputs.length + failures.length, { timeout: 60_000 }).toBe(count);
      gateway.child.kill('SIGKILL');
      await over;
      expect(failures).toEqual([]);
    };
    return { gateway, steps, outputs, text, replace, overwrite, api, policy, until, isThere, placeCall };
  }

  it('that tightens holds at once; that loosens waits for the operator; that is broken is shown and changes nothing', async () => {
    const made = await setUp(['delete_*']);
    const { steps, text, replace, overwrite, until, policy, api, isThere } = made;
    const { version: first } = await policy();
    steps.push(
      async () => 'free.txt',
      async () => {
        replace(text(['delete_*', 'write_*']));
        await expect.poll(async () => (await policy()).version, { timeout: 15_000 }).not.toBe(first);
        return 'tightened.txt';
      },
      async () => {
        overwrite(text(['delete_*']));
        await until({ editWaits: true, editBroken: false });
        return 'loosened.txt';
      },
      async () => {
        overwrite('{ "channels": { "realtime": ');
        await until({ editBroken: true });
        return 'broken.txt';
      },
      async () => {
        overwrite(text(['delete_*']));
        await until({ editBroken: false, editWaits: true });
        expect(await api('policy/confirm', 'POST')).toEqual({ confirmed: true });
        expect(await policy()).toEqual({ version: first, editWaits: false, editBroken: false });
        return 'confirmed.txt';
      },
    );

    await made.placeCall();

    const statuses = made.outputs.map((text_) => /"status":"(\w+)"/.exec(text_)?.[1] ?? 'ran');
    expect(statuses).toEqual(['ran', 'staged', 'staged', 'staged', 'ran']);
    const names = ['free.txt', 'tightened.txt', 'loosened.txt', 'broken.txt', 'confirmed.txt'];
    expect(names.map(isThere)).toEqual([true, false, false, false, true]);
    expect(made.gateway.stderr + made.gateway.stdout).toMatch(/last good approvals hold/);
  });

  it('that brings the first gate of all holds its tools back until a restart: it does not come open because it came late', async () => {
    const { gateway, steps, text, overwrite, outputs, isThere, placeCall } = await setUp(null);
    steps.push(
      async () => 'free.txt',
      async () => {
        overwrite(text(['write_*']));
        const log = () => gateway.stdout + gateway.stderr;
        await expect
          .poll(log, { timeout: 15_000, interval: 100 })
          .toMatch(/approvals of the config were edited/);
        return 'late.txt';
      },
    );

    await placeCall();

    expect(outputs[0]).not.toContain('denied');
    expect(outputs[1]).toMatch(/"status":"denied".*before a restart/);
    expect([isThere('free.txt'), isThere('late.txt')]).toEqual([true, false]);
  });
});
