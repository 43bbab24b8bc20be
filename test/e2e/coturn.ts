/** Debian's coturn on loopback, with the shared secret of the REST scheme. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const TURNSERVER = process.env.TEST_TURNSERVER ?? '/usr/bin/turnserver';
export const hasCoturn = existsSync(TURNSERVER);
if (!hasCoturn) console.warn(`TURN tests skipped: there is no ${TURNSERVER} (TEST_TURNSERVER).`);

export const TURN_SECRET = 'a-secret-of-this-test';

export class Coturn {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;
  output = '';

  static async start(): Promise<Coturn> {
    const turn = new Coturn(await freePort());
    await turn.#answers();
    return turn;
  }

  private constructor(port: number) {
    this.port = port;
    this.#folder = mkdtempSync(join(tmpdir(), 'coturn-'));
    this.#child = spawn(
      TURNSERVER,
      [
        ...['-n', '--no-cli', '--no-tls', '--no-dtls', '--no-tcp', '--log-file=stdout', '--simple-log'],
        ...['--listening-ip=127.0.0.1', '--relay-ip=127.0.0.1', `--listening-port=${port}`],
        ...['--allow-loopback-peers', '--use-auth-secret', `--static-auth-secret=${TURN_SECRET}`],
        ...['--realm=test', '--fingerprint', `--userdb=${join(this.#folder, 'users.db')}`],
        `--pidfile=${join(this.#folder, 'pid')}`,
      ],
      { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (data) => {
        this.output = `${this.output}${data}`.slice(-20_000);
      });
  }

  get url(): string {
    return `turn:127.0.0.1:${this.port}?transport=udp`;
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL');
    await gone;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A STUN binding request, until it is answered. */
  async #answers(): Promise<void> {
    const socket = createSocket('udp4');
    const request = Buffer.from('000100002112a442000000000000000000000001', 'hex');
    try {
      await new Promise<void>((resolve, reject) => {
        const ask = setInterval(() => socket.send(request, this.port, '127.0.0.1'), 50);
        const end = (act: () => void) => {
          clearInterval(ask);
          act();
        };
        socket.once('message', () => end(resolve));
        this.#child.once('exit', () => end(() => reject(new Error(`coturn ended:\n${this.output}`))));
      });
    } finally {
      socket.close();
    }
  }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(resolve));
  return port;
}
