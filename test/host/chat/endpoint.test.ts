import { describe, expect, it } from 'vitest';
import { chatEndpoint } from '../../../src/host/chat/index.ts';
import type { HostConfig, ProviderConfig } from '../../../src/host/config/index.ts';

const provider = (apiKey: string | null, apiBase: string | null = null): ProviderConfig => ({
  apiKey,
  apiBase,
  extraHeaders: {},
});
const config = (
  model: string | null,
  providers: Record<string, ProviderConfig>,
  name: string | null = null,
): Pick<HostConfig, 'agent' | 'providers'> => ({
  agent: {
    model,
    provider: name,
    maxTokens: 5,
    temperature: null,
    maxToolIterations: 1,
    unifiedSession: false,
  },
  providers,
});

describe('the endpoint that answers text', () => {
  it.each([
    ['no model', config(null, { openai: provider('k') })],
    ['no provider', config('gpt-x', {})],
    ['a provider without a key', config('gpt-x', { openai: provider(null) })],
    ['a provider without a known address', config('gpt-x', { anthropic: provider('k') })],
    ['a provider that is not there', config('gpt-x', { openai: provider('k') }, 'groq')],
    ['a provider called like what every object has', config('gpt-x', {}, 'constructor')],
  ])('is nobody with %s', (_what, each) => {
    expect(chatEndpoint(each)).toBeNull();
  });

  it.each([
    [
      'openai/gpt-x',
      { groq: provider('g'), openai: provider('k') },
      null,
      'https://api.openai.com/v1',
      'gpt-x',
    ],
    ['gpt-x', { groq: provider(null), openai: provider('k') }, null, 'https://api.openai.com/v1', 'gpt-x'],
    ['llama', { custom: provider(null, 'http://127.0.0.1:1/v1/') }, null, 'http://127.0.0.1:1/v1', 'llama'],
    ['openai/gpt-x', { openrouter: provider('k') }, null, 'https://openrouter.ai/api/v1', 'openai/gpt-x'],
    [
      'openai/gpt-x',
      { openai: provider('k'), openrouter: provider('r') },
      'openrouter',
      'https://openrouter.ai/api/v1',
      'openai/gpt-x',
    ],
  ])('of %s is found by the config', (model, providers, name, baseUrl, sent) => {
    const endpoint = chatEndpoint(config(model, providers as Record<string, ProviderConfig>, name));

    expect(endpoint).toMatchObject({ baseUrl, model: sent, maxTokens: 5 });
  });
});
