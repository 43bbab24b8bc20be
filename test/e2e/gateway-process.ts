import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RealtimeConfigInput } from '../../src/config.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A home folder of its own, with a config file and a workspace. */
export class TestHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'nanobot-e2e-'));
  readonly workspace = join(this.folder, '.nanobot', 'workspace');
  readonly config = join(this.folder, '.nanobot', 'config.json');

  constructor(realtime: RealtimeConfigInput) {
    mkdirSync(this.workspace, { recursive: true });
    writeFileSync(this.config, JSON.stringify({ channels: { realtime } }));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** `npm start`'s command, in a process of its own. */
export class GatewayProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly exit: Promise<number | null>;

  constructor(home: TestHome, env: Record<string, string> = {}, flags: readonly string[] = []) {
    const args = [
      '--disable-warning=ExperimentalWarning',
      'src/cli/main.ts',
      'start',
      '--config',
      home.config,
      ...flags,
    ];
    // Nothing of the machine's own: a key in its environment must not change what is tested.
    this.child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', HOME: home.folder, ...env },
    });
    this.child.stdout?.on('data', (data) => {
      this.stdout += data;
    });
    this.child.stderr?.on('data', (data) => {
      this.stderr += data;
    });
    this.exit = new Promise((resolve) => this.child.on('exit', resolve));
  }

  /** Resolves with the address that it prints. */
  async listening(): Promise<string> {
    const address = () => /Listening\s+(https?:\S+)/.exec(this.stdout)?.[1];
    await new Promise<void>((resolve) => {
      const look = () => {
        if (address() || this.child.exitCode !== null) resolve();
      };
      this.child.stdout?.on('data', look);
      this.child.on('exit', look);
      look();
    });
    const url = address();
    if (!url) throw new Error(`It did not start:\n${this.stdout}${this.stderr}`);
    return url;
  }

  /** Asks it to end, and gives back its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return this.exit;
  }
}
