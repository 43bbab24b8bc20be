/** A network of bad manners between a caller and us: it loses, delays, reorders, falls silent, changes addresses. */

import { createSocket, type Socket } from 'node:dgram';

export interface Datagram {
  readonly bytes: Buffer;
  /** `in`: from the caller to us. */
  readonly direction: 'in' | 'out';
}

/** What becomes of a datagram: ms of delay for each copy that arrives; none loses it. */
export type Manners = (datagram: Datagram) => readonly number[];

export const isDtls = (bytes: Buffer) => (bytes[0] ?? 0) >= 20 && (bytes[0] ?? 0) <= 63;
export const isMedia = (bytes: Buffer) => (bytes[0] ?? 0) >> 6 === 2;

/** Numbers between 0 and 1, the same ones for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class UdpRelay {
  manners: Manners = () => [0];
  readonly #front: Socket;
  #back: Socket;
  #caller: number | null = null;
  #ours: number | null = null;
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(front: Socket, back: Socket) {
    this.#front = front;
    this.#back = back;
    front.on('message', (bytes, { port }) => {
      this.#caller = port;
      this.#pass({ bytes, direction: 'in' });
    });
    this.#listen(back);
  }

  static async open(): Promise<UdpRelay> {
    return new UdpRelay(await bound(), await bound());
  }

  get port(): number {
    return this.#front.address().port;
  }

  /** The answer with the relay in our place. */
  inAnswer(sdp: string): string {
    const [line, port] = /a=candidate:\S+ 1 UDP \d+ 127\.0\.0\.1 (\d+) typ host/.exec(sdp) ?? [];
    if (!line) throw new Error('The answer has no candidate.');
    this.#ours = Number(port);
    return sdp.replaceAll(line, line.replace(` ${port} `, ` ${this.port} `));
  }

  /** From now on we see the caller at another address, as after a NAT's rebinding. */
  async changeAddress(): Promise<void> {
    const before = this.#back;
    this.#back = await bound();
    this.#listen(this.#back);
    before.close();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#front.close();
    this.#back.close();
  }

  #listen(back: Socket): void {
    back.on('message', (bytes) => this.#pass({ bytes, direction: 'out' }));
  }

  #pass(datagram: Datagram): void {
    for (const delay of this.manners(datagram)) {
      if (delay <= 0) {
        this.#forward(datagram);
        continue;
      }
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#forward(datagram);
      }, delay);
      this.#timers.add(timer);
    }
  }

  #forward({ bytes, direction }: Datagram): void {
    if (direction === 'in' && this.#ours !== null) this.#back.send(bytes, this.#ours, '127.0.0.1');
    if (direction === 'out' && this.#caller !== null) this.#front.send(bytes, this.#caller, '127.0.0.1');
  }
}

/** The offer without candidates: what comes, comes through the relay. */
export const withoutCandidates = (sdp: string) => sdp.replace(/a=(candidate:.*|end-of-candidates)\r?\n/g, '');

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return socket;
}
