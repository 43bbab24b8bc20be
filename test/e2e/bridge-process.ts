import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HostDouble } from '../bridge/host-double.ts';

const BIN = fileURLToPath(new URL('../../bin/nanobot-realtime.js', import.meta.url));

/** `nanobot-realtime bridge` as a child, with a double of its host on the other end. */
export class BridgeProcess {
  readonly folder = mkdtempSync(join(tmpdir(), 'bridge-e2e-'));
  readonly workspace = join(this.folder, 'workspace');
  readonly dataDir = join(this.folder, 'data');
  readonly child: ChildProcess;
  readonly host: HostDouble;
  stderr = '';
  readonly exit: Promise<number | null>;

  constructor(env: Record<string, string> = {}) {
    mkdirSync(this.workspace);
    this.child = spawn(process.execPath, [BIN, 'bridge'], {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder, ...env },
    });
    const { stdin, stdout, stderr } = this.child;
    if (!stdin || !stdout || !stderr) throw new Error('The child has no pipes.');
    // What is written into a child that has ended is lost, as it would be for a host.
    stdin.on('error', () => {});
    stderr.on('data', (data) => {
      this.stderr += data;
    });
    this.host = new HostDouble({ input: stdout, output: stdin });
    this.exit = new Promise((resolve) => this.child.on('exit', resolve));
  }

  initialize(
    config: object,
    more: {
      readonly level?: string;
      readonly gate?: boolean;
      readonly host?: object;
      readonly protocol?: number;
    } = {},
  ): ReturnType<HostDouble['ask']> {
    const { level = 'full', gate = false, host = {}, protocol = 1 } = more;
    const answer = this.host.ask('initialize', {
      protocol,
      config: { server: { port: 0 }, model: { provider: 'command' }, ...config },
      workspace: this.workspace,
      dataDir: this.dataDir,
      channel: 'realtime',
      host: { name: 'nanobot', version: '0.3.5', ...host },
      toolAccess: { requested: level, level, gate },
      mediaRoots: [this.workspace],
    });
    // A child that could not even load answers nothing.
    const died = this.exit.then((code): never => {
      throw new Error(`It ended with ${code}:\n${this.stderr}`);
    });
    return Promise.race([answer, died]);
  }

  /** Ends what is left of it. */
  remove(): void {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
