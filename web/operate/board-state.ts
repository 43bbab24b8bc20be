/**
 * The board's cards, kept up to date over its WebSocket; after a break everything is read anew.
 *
 * @module
 */

import { computed, signal } from '@preact/signals';
import { z } from 'zod';
import { get } from '../shared/api.ts';
import { columns } from './board.ts';
import { type Approval, approvalSchema, boardSchema } from './schemas.ts';

const liveSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('changed'), approval: approvalSchema }),
]);

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15_000;

export class Board {
  readonly cards = signal<ReadonlyMap<string, Approval>>(new Map());
  readonly policy = signal({ version: '', editWaits: false, editBroken: false });
  readonly isLive = signal(false);
  readonly columns = computed(() => columns(this.cards.value.values()));
  readonly waiting = computed(
    () => [...this.cards.value.values()].filter(({ column }) => column === 'Waiting').length,
  );
  #socket: WebSocket | null = null;
  #waitMs = FIRST_WAIT_MS;
  #isClosed = false;

  put(approval: Approval): void {
    this.cards.value = new Map(this.cards.value).set(approval.id, approval);
  }

  async load(): Promise<void> {
    const { approvals, policy } = await get('operator/api/approvals?all', boardSchema);
    this.cards.value = new Map(approvals.map((approval) => [approval.id, approval]));
    this.policy.value = policy;
  }

  follow(): void {
    if (this.#isClosed) return;
    const url = new URL('operator/live', document.baseURI);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message = liveSchema.safeParse(JSON.parse(String(data))).data;
      if (message?.type === 'hello') {
        this.#waitMs = FIRST_WAIT_MS;
        this.isLive.value = true;
        void this.load().catch(() => socket.close());
      } else if (message) this.put(message.approval);
    });
    socket.addEventListener('close', () => {
      this.isLive.value = false;
      setTimeout(() => this.follow(), this.#waitMs);
      this.#waitMs = Math.min(this.#waitMs * 2, LAST_WAIT_MS);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.close();
  }
}
