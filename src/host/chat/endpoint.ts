/** Which endpoint answers text, by nanobot's `agents.defaults` and `providers`. */

import type { HostConfig, ProviderConfig } from '../config/index.ts';

export interface ChatEndpoint {
  /** Base of the API, e.g. `https://api.openai.com/v1`; no slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly maxTokens: number | null;
  readonly temperature: number | null;
}

/** Where providers that speak chat completions are found when the config names no `apiBase`. */
const BASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    openai: 'https://api.openai.com/v1',
    openrouter: 'https://openrouter.ai/api/v1',
    deepseek: 'https://api.deepseek.com/v1',
    groq: 'https://api.groq.com/openai/v1',
    mistral: 'https://api.mistral.ai/v1',
    gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
    ollama: 'http://127.0.0.1:11434/v1',
  }),
);

/** Providers that carry others' models under their own names, prefix and all. */
const KEEPS_PREFIX: ReadonlySet<string> = new Set(['openrouter', 'custom', 'vllm']);

/** The endpoint, or `null` when the config names no model or no provider that can be reached. */
export function chatEndpoint(config: Pick<HostConfig, 'agent' | 'providers'>): ChatEndpoint | null {
  const { model, maxTokens, temperature } = config.agent;
  if (model === null) return null;
  const prefix = /^([\w-]+)\//.exec(model)?.[1] ?? null;
  const name = providerName(config, prefix);
  const provider =
    name !== null && Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
  if (name === null || !provider) return null;
  const baseUrl = (provider.apiBase ?? BASES.get(name))?.replace(/\/+$/, '');
  if (!baseUrl) return null;
  return {
    baseUrl,
    apiKey: provider.apiKey,
    headers: provider.extraHeaders,
    model: prefix === name && !KEEPS_PREFIX.has(name) ? model.slice(prefix.length + 1) : model,
    maxTokens,
    temperature,
  };
}

function providerName({ agent, providers }: Pick<HostConfig, 'agent' | 'providers'>, prefix: string | null) {
  if (agent.provider !== null) return agent.provider;
  const usable = Object.entries(providers).filter(([name, provider]) => isUsable(name, provider));
  const named = usable.find(([name]) => name === prefix);
  return (named ?? usable[0])?.[0] ?? null;
}

function isUsable(name: string, { apiKey, apiBase }: ProviderConfig): boolean {
  return apiBase !== null || (apiKey !== null && BASES.has(name));
}
