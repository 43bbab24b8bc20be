/**
 * `pending/actions/<id>.json` in the data folder: what waits, as scripts and people can read it. A copy without secrets;
 * the store is the truth, and editing a file here decides nothing.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../observe/index.ts';
import type { ApprovalRow, ApprovalStatus } from '../store/index.ts';

/** Files that may wait to be written; beyond it the mirror lags and `sync` makes it good. */
export const MAX_MIRROR_QUEUE = 1000;

const LIVE: readonly ApprovalStatus[] = ['pending', 'approved', 'executing'];

export class PendingMirror {
  readonly directory: string;
  readonly #logger: Logger;
  #queue: Promise<void> = Promise.resolve();
  #queued = 0;

  constructor(dataDirectory: string, logger: Logger) {
    this.directory = join(dataDirectory, 'pending', 'actions');
    this.#logger = logger;
  }

  /** Writes what is live, removes everything else. */
  async sync(live: readonly ApprovalRow[]): Promise<void> {
    await this.#makeFolder();
    const keep = new Set(live.filter(isMirrored).map((record) => `${record.id}.json`));
    for (const name of await readdir(this.directory)) {
      if (!keep.has(name)) await rm(join(this.directory, name), { force: true, recursive: true });
    }
    for (const record of live) if (isMirrored(record)) await this.#write(record);
  }

  /** Follows a change, in the background and in order. */
  follow(record: ApprovalRow): void {
    if (record.mode !== 'deferred' || this.#queued >= MAX_MIRROR_QUEUE) return;
    this.#queued++;
    this.#queue = this.#queue
      .then(() => (isMirrored(record) ? this.#write(record) : this.#remove(record.id)))
      .catch((error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : null;
        this.#logger.warn({ approval: record.id, code }, 'a pending action could not be mirrored');
      })
      .finally(() => {
        this.#queued--;
      });
  }

  /** Waits for what is under way. */
  idle(): Promise<void> {
    return this.#queue;
  }

  async #makeFolder(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await chmod(this.directory, 0o700);
  }

  async #write(record: ApprovalRow): Promise<void> {
    await this.#makeFolder();
    const temporary = join(this.directory, `.${record.id}.${randomBytes(4).toString('hex')}`);
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(describe(record), null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(this.directory, `${record.id}.json`));
  }

  #remove(id: string): Promise<void> {
    return rm(join(this.directory, `${id}.json`), { force: true });
  }
}

const isMirrored = (record: ApprovalRow) => record.mode === 'deferred' && LIVE.includes(record.status);
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function describe(record: ApprovalRow) {
  return {
    note: 'A copy for reading. Changing this file decides nothing: use `nanobot-realtime approvals`.',
    id: record.id,
    status: record.status,
    tool: record.tool,
    summary: record.summary,
    arguments: JSON.parse(record.argsShown) as unknown,
    argumentsSha256: record.argsHash,
    tenant: record.tenant,
    sessionKey: record.sessionKey,
    callId: record.callId,
    policyVersion: record.policyVersion,
    createdAt: iso(record.createdAt),
    expiresAt: iso(record.expiresAt),
  };
}
