// Elsewhere: a voice that the model did not have was no error but noise on the line.

import { describe, expect, it } from 'vitest';
import { RealtimeVoiceChannel } from '../../src/channel/index.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { createOpenAiModelFactory } from '../../src/model/openai/index.ts';
import { MemoryStore, testSynthesiser } from '../call/harness.ts';

const start = (model: RealtimeConfigInput['model']) =>
  createOpenAiModelFactory({ config: realtimeConfigSchema.parse({ model }).model, apiKey: 'test-key' });

describe('bug 58: a name that the provider does not have', () => {
  it.each([
    ['a voice of another provider', { provider: 'openai', voice: 'Ara' }],
    ['a voice spelled wrong', { provider: 'openai', voice: 'Marin' }],
    ['a voice on Azure', { provider: 'azure', voice: 'jenny', baseUrl: 'https://x.openai.azure.com' }],
    ['a text model', { provider: 'openai', model: 'gpt-5' }],
    ['a model of another API', { provider: 'openai', model: 'gpt-live-1' }],
    ['an unknown turn detection', { provider: 'xai', turnDetection: { type: 'semantic_vad' } }],
  ] as [string, RealtimeConfigInput['model']][])('(%s) is refused before a call is taken', (_, model) => {
    expect(() => start(model)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('stops the channel from listening', async () => {
    const channel = new RealtimeVoiceChannel(
      { server: { port: 0 }, model: { provider: 'openai', apiKey: 'test-key', voice: 'nobody' } },
      null,
      { parts: { store: new MemoryStore(), synthesiser: testSynthesiser, env: {} } },
    );
    await expect(channel.listen()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(channel.isRunning).toBe(false);
    await channel.stop();
  });

  it.each([
    ['a voice of its own', { provider: 'openai', voice: 'voice_68a1' }],
    [
      'a deployment’s own name',
      { provider: 'azure', model: 'my-phone', baseUrl: 'https://x.openai.azure.com' },
    ],
    [
      'whatever a self-hosted server has',
      { provider: 'openai-compatible', model: 'm', voice: 'af_sky', baseUrl: 'ws://127.0.0.1:1' },
    ],
  ] as [string, RealtimeConfigInput['model']][])('but %s is fine', (_, model) => {
    expect(() => start(model)).not.toThrow();
  });
});
