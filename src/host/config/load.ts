import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type RealtimeConfig, realtimeConfigSchema } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import { withoutBlanks } from './blanks.ts';
import { describeIssues } from './describe.ts';
import { type HostConfig, readHostConfig } from './host-config.ts';
import { findJsonFault } from './json-position.ts';
import { normaliseKeys } from './schema-shape.ts';
import { type ConfigPath, type Expansion, expandVariables, showPath } from './variables.ts';

/** Largest config file that is read. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

const OUR_SECTION: ConfigPath = ['channels', 'realtime'];

export interface LoadConfigOptions {
  /** The file; `~/.nanobot/config.json` when left out, which need not be there. */
  readonly path?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
}

export interface LoadedConfig {
  /** Our section, `channels.realtime`, with every default filled in. */
  readonly realtime: RealtimeConfig;
  /** What the embedded host takes from nanobot's own part. */
  readonly host: HostConfig;
  /** Absolute path of the file that was read, or that was looked for. */
  readonly path: string;
  /** False: there is no file, and everything is as by default. */
  readonly found: boolean;
  /** What a person should know: that there is no file, which values of nanobot's own were passed over. */
  readonly notes: readonly string[];
}

/**
 * Reads the config file.
 *
 * @throws VoiceError `CONFIG_NOT_FOUND` when a file that was asked for is not there, `CONFIG_UNREADABLE` when it
 * is not JSON, `CONFIG_INVALID` with one line for each thing wrong in our section
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const home = options.home ?? homedir();
  const path = resolve(options.path ?? join(home, '.nanobot', 'config.json'));
  const text = await readText(path, options.path !== undefined);
  const found = text !== null;
  const notes = found ? [] : [`There is no config file at ${path}; every setting is the default.`];

  const expansion = expandVariables(parseJson(text ?? '{}', path), options.env ?? process.env);
  const realtime = parseOurSection(expansion, path);
  for (const { path: where, name } of expansion.missing) {
    notes.push(`${showPath(where)}: the environment variable ${name} is not set; left out`);
  }
  const host = readHostConfig(expansion.value, { configDir: dirname(path), home }, notes);
  return { realtime, host, path, found, notes };
}

/**
 * Our section as another nanobot holds it: both spellings, `${VAR}` where it was left.
 *
 * @param source - where it came from, for people
 * @throws VoiceError `CONFIG_INVALID` with one line for each thing wrong
 */
export function parseSection(
  section: Readonly<Record<string, unknown>>,
  source: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): RealtimeConfig {
  return parseOurSection(expandVariables({ channels: { realtime: section } }, env), source);
}

async function readText(path: string, isRequired: boolean): Promise<string | null> {
  try {
    const { size } = await stat(path);
    if (size > MAX_CONFIG_BYTES) {
      throw new VoiceError('CONFIG_UNREADABLE', `${path} is larger than ${MAX_CONFIG_BYTES} bytes.`);
    }
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof VoiceError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOENT') {
      throw new VoiceError('CONFIG_UNREADABLE', `${path} can't be read (${code ?? 'unknown'}).`, {
        cause: error,
      });
    }
    if (!isRequired) return null;
    throw new VoiceError('CONFIG_NOT_FOUND', `There is no file at ${path}.`);
  }
}

function parseJson(text: string, path: string): unknown {
  // Editors on Windows put a byte order mark in front.
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    return JSON.parse(json);
  } catch {
    // No cause: the parser's message quotes the file, and what it quotes can be a key.
    const fault = findJsonFault(json);
    const where = fault ? `, line ${fault.line}, column ${fault.column}` : '';
    throw new VoiceError('CONFIG_UNREADABLE', `${path}${where}: this is not JSON.`);
  }
}

function parseOurSection(expansion: Expansion, file: string): RealtimeConfig {
  const ours = OUR_SECTION.reduce<unknown>(
    (each, key) => (typeof each === 'object' && each !== null ? Reflect.get(each, key) : undefined),
    expansion.value,
  );
  const problems: string[] = expansion.missing
    .filter(({ path }) => OUR_SECTION.every((key, index) => path[index] === key))
    .map(({ path, name }) => `${showPath(path)}: the environment variable ${name} is not set`);

  const value = normaliseKeys(withoutBlanks(ours ?? {}), realtimeConfigSchema, (path) => {
    problems.push(`${showPath([...OUR_SECTION, ...path])}: given twice, in both spellings`);
  });
  const result = realtimeConfigSchema.safeParse(value);
  if (!result.success) {
    problems.push(
      ...describeIssues(result.error.issues, {
        schema: realtimeConfigSchema,
        value,
        root: OUR_SECTION,
        expanded: expansion.expanded,
      }),
    );
  }
  if (result.success && problems.length === 0) return result.data;
  const count = problems.length === 1 ? 'one thing is' : `${problems.length} things are`;
  throw new VoiceError('CONFIG_INVALID', [`${file}: ${count} wrong.`, ...problems].join('\n'));
}
