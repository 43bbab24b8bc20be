/**
 * What the embedded host takes from nanobot's own part of the config (nanobot 0.3.0, `config/schema.py`).
 *
 * @module
 */

import { join, resolve } from 'node:path';
import { parseCidr } from '../guards/index.ts';
import { LenientSection } from './lenient.ts';

export interface McpServerConfig {
  readonly type: 'stdio' | 'streamableHttp' | 'sse';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Deadline of one call, in seconds. */
  readonly toolTimeout: number;
  /** Names of the server's tools, or `*`. */
  readonly enabledTools: readonly string[];
}

export interface ProviderConfig {
  readonly apiKey: string | null;
  readonly apiBase: string | null;
  readonly extraHeaders: Readonly<Record<string, string>>;
}

export interface HostConfig {
  /** Absolute path of the folder that the agent works in. */
  readonly workspace: string;
  /** Absolute path of what is ours alone: sessions, database. No tool reaches it. */
  readonly dataDir: string;
  /** Unlike nanobot's own, true unless the file says false. */
  readonly restrictToWorkspace: boolean;
  readonly tools: {
    readonly file: { readonly enable: boolean };
    readonly web: { readonly enable: boolean };
    /** Off unless the file says true. */
    readonly exec: {
      readonly enable: boolean;
      readonly timeoutS: number | null;
      readonly allowedEnvKeys: readonly string[];
      readonly denyPatterns: readonly RegExp[];
      readonly allowPatterns: readonly RegExp[];
    };
    readonly ssrfWhitelist: readonly string[];
  };
  readonly mcpServers: Readonly<Record<string, McpServerConfig>>;
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly agent: {
    /** `null`: nobody answers text. */
    readonly model: string | null;
    /** Name of the provider, or `null` to find it by the model's name. */
    readonly provider: string | null;
    readonly maxTokens: number | null;
    readonly temperature: number | null;
    readonly maxToolIterations: number;
    /** One session for every chat of every channel. */
    readonly unifiedSession: boolean;
  };
  /** Times a failed message of a channel is sent again. */
  readonly sendMaxRetries: number;
}

export interface HostConfigPlace {
  /** Folder of the config file. */
  readonly configDir: string;
  readonly home: string;
}

/** @param notes - takes one line for each value of nanobot's own that is passed over */
export function readHostConfig(value: unknown, place: HostConfigPlace, notes: string[]): HostConfig {
  const root = new LenientSection(value, '', notes);
  const tools = root.section('tools');
  const defaults = root.section('agents').section('defaults');
  const workspace = defaults.text('workspace') || join(place.configDir, 'workspace');
  const provider = defaults.text('provider');
  return {
    workspace: absolute(workspace, place),
    dataDir: join(place.configDir, 'realtime'),
    restrictToWorkspace: tools.flag('restrictToWorkspace') ?? true,
    tools: {
      file: { enable: tools.section('file').flag('enable') ?? true },
      web: { enable: tools.section('web').flag('enable') ?? true },
      exec: readExec(tools.section('exec'), notes),
      ssrfWhitelist: readableRanges(tools.texts('ssrfWhitelist') ?? [], notes),
    },
    mcpServers: readMcpServers(tools.section('mcpServers'), place),
    providers: readProviders(root.section('providers')),
    agent: {
      model: defaults.text('model') || null,
      provider: provider === null || provider === '' || provider === 'auto' ? null : provider,
      maxTokens: defaults.number('maxTokens', 1, 1_000_000),
      temperature: defaults.number('temperature', 0, 2),
      maxToolIterations: Math.floor(defaults.number('maxToolIterations', 1, 200) ?? 20),
      unifiedSession: defaults.flag('unifiedSession') ?? false,
    },
    sendMaxRetries: Math.floor(root.section('channels').number('sendMaxRetries', 0, 10) ?? 3),
  };
}

function readExec(exec: LenientSection, notes: string[]): HostConfig['tools']['exec'] {
  const deny = patterns(exec.texts('denyPatterns') ?? []);
  const allow = patterns(exec.texts('allowPatterns') ?? []);
  const enable = exec.flag('enable') ?? false;
  const unreadable = deny.unreadable || allow.unreadable;
  // A command that a pattern was to keep from running must not run because the pattern is not JavaScript's.
  if (unreadable && enable) {
    notes.push('tools.exec: an entry of denyPatterns or allowPatterns can not be read; exec stays off');
  }
  return {
    enable: enable && !unreadable,
    timeoutS: exec.number('timeout', 1, 600),
    allowedEnvKeys: exec.texts('allowedEnvKeys') ?? [],
    denyPatterns: deny.readable,
    allowPatterns: allow.readable,
  };
}

/** nanobot matches against the command in lower case, so these ignore case. */
function patterns(sources: readonly string[]): { readable: RegExp[]; unreadable: boolean } {
  const readable: RegExp[] = [];
  for (const source of sources) {
    try {
      readable.push(new RegExp(source, 'i'));
    } catch {
      // Counted below.
    }
  }
  return { readable, unreadable: readable.length < sources.length };
}

function readableRanges(ranges: readonly string[], notes: string[]): string[] {
  return ranges.filter((range) => {
    const readable = parseCidr(range) !== null;
    if (!readable) notes.push('tools.ssrfWhitelist: an entry is not an address range; passed over');
    return readable;
  });
}

function absolute(path: string, { configDir, home }: HostConfigPlace): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return resolve(configDir, path);
}

function readMcpServers(section: LenientSection, place: HostConfigPlace): Record<string, McpServerConfig> {
  const servers = section.keys.map((name) => {
    const server = section.section(name);
    const url = server.text('url') ?? '';
    const cwd = server.text('cwd');
    return [
      name,
      {
        type: transportOf(server.text('type'), url),
        command: server.text('command') ?? '',
        args: server.texts('args') ?? [],
        env: server.textMap('env') ?? {},
        cwd: cwd ? absolute(cwd, place) : null,
        url,
        headers: server.textMap('headers') ?? {},
        toolTimeout: server.number('toolTimeout', 1, 3600) ?? 30,
        enabledTools: server.texts('enabledTools') ?? ['*'],
      },
    ] as const;
  });
  return Object.fromEntries(servers);
}

/** As nanobot guesses where the file names no type. */
function transportOf(type: string | null, url: string): McpServerConfig['type'] {
  switch (type) {
    case 'stdio':
    case 'sse':
    case 'streamableHttp':
      return type;
    case 'streamable_http':
    case 'http':
      return 'streamableHttp';
    default:
      if (url === '') return 'stdio';
      return /\/sse\/?$/.test(url) ? 'sse' : 'streamableHttp';
  }
}

function readProviders(section: LenientSection): Record<string, ProviderConfig> {
  const providers = section.keys.map((name) => {
    const provider = section.section(name);
    return [
      name,
      {
        apiKey: provider.text('apiKey') || null,
        apiBase: provider.text('apiBase') || null,
        extraHeaders: provider.textMap('extraHeaders') ?? {},
      },
    ] as const;
  });
  return Object.fromEntries(providers);
}
