/**
 * The records of past calls, a file for each, for the operator's page: bounded in number, age and size. They hold what
 * was said, so they can be turned off.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { PageConfig } from '../../config-page.ts';
import type { CallRecord, Logger } from '../../observe/index.ts';
import type { CallLatencies } from './latency.ts';

/** Largest record that is kept whole; of a larger one the last events are left out. */
export const MAX_KEPT_RECORD_BYTES = 2_000_000;
/** What is half written is a crash's after so long, where other processes write too. */
const LEFTOVER_MS = 60_000;
/** Latencies of one call that count. */
const MAX_LATENCIES = 1000;

const FILE = /^([0-9a-f]{32})\.json$/;
export const CALL_ID = /^[0-9a-f]{32}$/;

export interface CallRecordsOptions {
  readonly directory: string;
  readonly config: PageConfig['records'];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Other processes keep theirs in the same folder. @defaultValue false */
  readonly isShared?: boolean;
}

export class CallRecords {
  readonly #options: CallRecordsOptions;
  /** What is on disk, oldest first. */
  readonly #kept = new Map<string, CallLatencies>();
  /** One thing at a time: what is swept is not being written. */
  #queue: Promise<void> = Promise.resolve();

  constructor(options: CallRecordsOptions) {
    this.#options = options;
  }

  /** Reads what is there. Nothing there, or nothing that can be read, is no error. */
  async open(): Promise<void> {
    if (!this.#options.config.enabled) return;
    await this.#inOrder(async () => {
      const found: CallLatencies[] = [];
      for (const id of await this.#ids()) {
        const record = await this.#read(id);
        if (record) found.push(latenciesOf(record));
      }
      found.sort((a, b) => a.startedAt - b.startedAt);
      for (const each of found) this.#kept.set(each.id, each);
      await this.#sweep();
    });
  }

  /** Learns what other processes have kept and removed since; nothing where there are none. */
  async refresh(): Promise<void> {
    if (!this.#options.isShared || !this.#options.config.enabled) return;
    await this.#inOrder(async () => {
      const ids = new Set(await this.#ids());
      for (const id of this.#kept.keys()) if (!ids.has(id)) this.#kept.delete(id);
      const found = [...this.#kept.values()];
      for (const id of ids) {
        const record = this.#kept.has(id) ? null : await this.#read(id);
        if (record) found.push(latenciesOf(record));
      }
      if (found.length === this.#kept.size) return;
      this.#kept.clear();
      found.sort((a, b) => a.startedAt - b.startedAt);
      for (const each of found) this.#kept.set(each.id, each);
    });
  }

  has(id: string): boolean {
    return this.#kept.has(id);
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Latencies of what is kept. */
  latencies(): Iterable<CallLatencies> {
    return this.#kept.values();
  }

  /** Keeps the record of a call that is over. Never rejects: a full disk ends no call. */
  async keep(record: CallRecord): Promise<void> {
    if (!this.#options.config.enabled || !CALL_ID.test(record.id)) return;
    await this.#inOrder(async () => {
      await mkdir(this.#options.directory, { recursive: true, mode: 0o700 });
      const path = this.#path(record.id);
      const temporary = `${path}.${randomBytes(4).toString('hex')}`;
      await writeFile(temporary, bounded(record), { mode: 0o600 });
      await rename(temporary, path);
      this.#kept.set(record.id, latenciesOf(record));
      await this.#sweep();
    });
  }

  /** @returns `null` when there is none */
  async get(id: string): Promise<CallRecord | null> {
    await this.#queue;
    return this.#kept.has(id) ? this.#read(id) : null;
  }

  async remove(id: string): Promise<boolean> {
    const wasThere = this.#kept.has(id);
    await this.#inOrder(() => this.#forget(id));
    return wasThere;
  }

  /** Resolves once everything that was begun is written. */
  async close(): Promise<void> {
    await this.#queue;
  }

  async #sweep(): Promise<void> {
    const { config, clock } = this.#options;
    const oldest = clock.wallNow() - config.keepDays * 86_400_000;
    for (const [id, { startedAt }] of this.#kept) {
      if (this.#kept.size <= config.max && startedAt >= oldest) break;
      await this.#forget(id);
    }
  }

  async #forget(id: string): Promise<void> {
    if (this.#kept.delete(id)) await rm(this.#path(id), { force: true });
  }

  async #ids(): Promise<string[]> {
    const names = await readdir(this.#options.directory).catch(() => []);
    const ids: { id: string; at: number }[] = [];
    for (const name of names) {
      const id = FILE.exec(name)?.[1];
      const path = join(this.#options.directory, name);
      // What a crash left half written.
      if (id === undefined) await this.#removeLeftover(path);
      else ids.push({ id, at: await modifiedAt(path) });
    }
    ids.sort((a, b) => b.at - a.at);
    for (const { id } of ids.splice(this.#options.config.max)) await rm(this.#path(id), { force: true });
    return ids.map(({ id }) => id);
  }

  /** Another process may just be writing it. */
  async #removeLeftover(path: string): Promise<void> {
    const { isShared, clock } = this.#options;
    if (isShared && (await modifiedAt(path)) > clock.wallNow() - LEFTOVER_MS) return;
    await rm(path, { force: true }).catch(() => {});
  }

  async #read(id: string): Promise<CallRecord | null> {
    try {
      const record = JSON.parse(await readFile(this.#path(id), 'utf8')) as CallRecord;
      return record.version === 1 && record.id === id ? record : null;
    } catch {
      return null;
    }
  }

  #path(id: string): string {
    return join(this.#options.directory, `${id}.json`);
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#options;
    const done = this.#queue.then(work).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? error.code : 'INTERNAL';
      logger.warn({ code }, 'the record of a call could not be kept');
    });
    this.#queue = done;
    return clock.track(done);
  }
}

async function modifiedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

function latenciesOf(record: CallRecord): CallLatencies {
  const { id, carrier, startedAt, latencies } = record;
  return {
    id,
    carrier,
    startedAt: Date.parse(startedAt),
    turns: latencies.slice(0, MAX_LATENCIES).map(({ latencyMs, toolMs }) => [latencyMs, toolMs] as const),
  };
}

function bounded(record: CallRecord): string {
  let kept = record;
  let text = JSON.stringify(kept);
  while (text.length > MAX_KEPT_RECORD_BYTES && kept.events.length > 0) {
    const half = Math.floor(kept.events.length / 2);
    const left = kept.events.length - half;
    kept = { ...kept, events: kept.events.slice(0, half), eventsLeftOut: kept.eventsLeftOut + left };
    text = JSON.stringify(kept);
  }
  return text;
}
