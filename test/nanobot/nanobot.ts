/**
 * The real nanobot, from the virtual environment that `scripts/test-nanobot.sh` made: its gateway as a process of its own,
 * with a home folder of its own.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The Python of that environment. */
export function python(): string {
  const path = process.env.NANOBOT_TEST_PYTHON;
  if (!path) throw new Error('NANOBOT_TEST_PYTHON is not set: run `npm run test:nanobot`.');
  return path;
}

export const nanobotCommand = (): string => join(dirname(python()), 'nanobot');

/** A port that was free a moment ago; nanobot takes no 0. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface SessionRow {
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  readonly tool_call_id?: string;
  readonly source?: string;
  readonly [key: string]: unknown;
}

/** A home folder with a config file and a workspace. */
export class NanobotHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'nanobot-real-'));
  readonly data = join(this.folder, '.nanobot');
  readonly workspace = join(this.data, 'workspace');
  readonly config = join(this.data, 'config.json');

  write(config: unknown): void {
    mkdirSync(this.workspace, { recursive: true });
    writeFileSync(this.config, JSON.stringify(config));
  }

  /** Runs one of nanobot's own commands in this home. */
  run(...args: string[]): string {
    return execFileSync(nanobotCommand(), args, { encoding: 'utf8', env: this.environment() });
  }

  /** Nothing of the machine's own: a key in its environment must not change what is tested. */
  environment(more: Record<string, string> = {}): Record<string, string> {
    return { PATH: process.env.PATH ?? '', HOME: this.folder, NO_COLOR: '1', COLUMNS: '200', ...more };
  }

  /** Rows of every session file, by session key. */
  sessions(): Map<string, SessionRow[]> {
    const root = join(this.data, 'sessions');
    const found = new Map<string, SessionRow[]>();
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.jsonl')) continue;
      const stem = name.slice(name.lastIndexOf('/') + 1, -'.jsonl'.length);
      const key = Buffer.from(stem, 'base64url').toString();
      const lines = readFileSync(join(root, name), 'utf8').trim().split('\n');
      found.set(
        key,
        lines.map((line) => JSON.parse(line) as SessionRow).filter(({ role }) => role !== undefined),
      );
    }
    return found;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** `nanobot gateway`. */
export class NanobotGateway {
  readonly child: ChildProcess;
  output = '';
  readonly exit: Promise<number | null>;

  constructor(home: NanobotHome, env: Record<string, string> = {}) {
    this.child = spawn(nanobotCommand(), ['gateway'], { env: home.environment(env), cwd: home.folder });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (data) => {
        this.output += data;
      });
    }
    this.exit = new Promise((resolve) => this.child.on('exit', resolve));
  }

  /** What the pattern finds in its output, as soon as it is there. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    const find = () => pattern.exec(this.output);
    await new Promise<void>((resolve) => {
      const look = () => {
        if (find() || this.child.exitCode !== null) resolve();
      };
      this.child.stdout?.on('data', look);
      this.child.stderr?.on('data', look);
      this.child.on('exit', look);
      look();
    });
    const found = find();
    if (!found) throw new Error(`It never said ${pattern}:\n${this.output}`);
    return found;
  }

  /** Resolves with where calls are taken. */
  async listening(): Promise<string> {
    return (await this.said(/Listening for calls at (http:\S+)/))[1] ?? '';
  }

  /** Asks it to end, and gives back its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exit;
  }
}

/** Processes whose command line or environment names this folder; Linux only, elsewhere none are found. */
export function processesOf(folder: string): string[] {
  const found: string[] = [];
  let entries: string[] = [];
  try {
    entries = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  for (const pid of entries) {
    if (Number(pid) === process.pid) continue;
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      if (command !== '' && (environment.includes(folder) || command.includes(folder))) found.push(command);
    } catch {
      // It ended meanwhile, or is another user's.
    }
  }
  return found;
}
