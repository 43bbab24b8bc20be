import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealtimeVoiceChannel } from '../../src/channel/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { FakeGateway } from '../../src/testing/index.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'channel-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const parts = () => ({ logger: silentLogger, dataDirectory: folder, env: {} });
const config = { server: { port: 0 }, model: { provider: 'command' } } as const;

describe('the channel', () => {
  it('opts in to the tool gateway', () => {
    expect(RealtimeVoiceChannel.wantsToolGateway).toBe(true);
    expect(RealtimeVoiceChannel.channelName).toBe('realtime');
  });

  it('blocks in start for its life, listens meanwhile, and may be stopped twice', async () => {
    const channel = new RealtimeVoiceChannel(config, null, { parts: parts() });
    let ended = false;
    const life = channel.start().then(() => {
      ended = true;
    });
    await channel.listen();
    const response = await fetch(`${channel.address}/healthz`);
    expect(response.status).toBe(200);
    expect(ended).toBe(false);

    await Promise.all([channel.stop(), channel.stop()]);
    await life;

    expect(channel.isRunning).toBe(false);
    await expect(fetch(`${channel.address ?? 'http://127.0.0.1:1'}/healthz`)).rejects.toThrow();
  });

  it('can be stopped before it has started, and a new one starts in the same process', async () => {
    const first = new RealtimeVoiceChannel(config, null, { parts: parts() });
    await first.stop();
    const second = new RealtimeVoiceChannel(config, null, { parts: parts() });

    await second.listen();

    expect(second.isRunning).toBe(true);
    await second.stop();
  });

  it('says what is wrong with its config, by path', () => {
    const wrong = { server: { port: 'no' } } as unknown as Record<string, never>;

    expect(() => new RealtimeVoiceChannel(wrong, null)).toThrow(/channels\.realtime\.server\.port/);
  });

  it('frees what it opened when it can not listen', async () => {
    const first = new RealtimeVoiceChannel(config, null, { parts: parts() });
    await first.listen();
    const port = Number(new URL(first.address!).port);
    const second = new RealtimeVoiceChannel({ ...config, server: { port } }, null, { parts: parts() });

    await expect(second.listen()).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' });
    expect(second.isRunning).toBe(false);
    await first.stop();
  });

  it('names the model it is connected to: offline without a key, OpenAI’s with one', async () => {
    const offline = new RealtimeVoiceChannel({ server: { port: 0 } }, null, { parts: parts() });
    await offline.listen();
    expect(offline.modelDescription).toMatch(/offline/);
    await offline.stop();
    const online = new RealtimeVoiceChannel({ server: { port: 0 } }, null, {
      parts: { ...parts(), env: { OPENAI_API_KEY: 'sk-test' } },
    });
    await online.listen();
    expect(online.modelDescription).toMatch(/gpt-realtime-2\.1/);
    expect(online.modelDescription).not.toContain('sk-test');
    await online.stop();
  });

  it('drops a message for a chat that has no call', async () => {
    const channel = new RealtimeVoiceChannel(config, null, {
      parts: parts(),
      toolGateway: new FakeGateway({ tools: {} }),
    });
    await channel.listen();

    await expect(channel.send({ chatId: 'nobody', content: 'Hello' })).resolves.toBeUndefined();
    await channel.stop();
  });
});
