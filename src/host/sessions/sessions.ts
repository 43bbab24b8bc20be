import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { TurnRow } from '../../store/index.ts';
import { writeAtomically } from './atomic-write.ts';
import { stampOf, withFileLock } from './file-lock.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { formatSession, parseSession, type SessionRow } from './rows.ts';
import { insertTurn, turnMark, turnRows } from './turn-rows.ts';

/** Sessions kept in memory; the one unused for longest is forgotten first (and read again when it is needed). */
export const MAX_CACHED_SESSIONS = 128;
/** Reads and writes that may wait for the disk, over all sessions. */
export const MAX_PENDING_SESSION_WORK = 1000;
/** Rows a session file holds; the oldest go first. */
export const MAX_SESSION_ROWS = 5000;
/** Turns of the store that a session is compared with when it is read. */
export const MAX_REPAIRED_TURNS = 200;
/** Longest session key; as a file name it becomes a third longer, and 255 bytes are the end of that. */
export const MAX_SESSION_KEY_BYTES = 180;

export interface Session {
  readonly key: string;
  /** Oldest first. */
  readonly rows: readonly SessionRow[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** nanobot's own, e.g. `policy.disabled_tools`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly lastConsolidated: number;
}

export interface SessionsOptions {
  /** Folder of the files; made when it is not there. */
  readonly directory: string;
  readonly clock: Clock;
  /** Other processes write the same files: each use takes the file's lock and reads it anew where it changed. @defaultValue false */
  readonly isShared?: boolean;
  /** The last turns of a session from the store; what the file lacks of them is put back when it is read. */
  readonly turnsOf?: (sessionKey: string, limit: number) => Promise<readonly TurnRow[]>;
}

/**
 * Session files, `<b64url(key)>.jsonl`. Writes to one session come one after the other; each replaces the file as
 * a whole.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #cache = new Map<string, Session>();
  /** The file that is cached, where others may change it. */
  readonly #stamps = new WeakMap<Session, string>();
  readonly #queue = new KeyedQueue(MAX_PENDING_SESSION_WORK);

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get cachedCount(): number {
    return this.#cache.size;
  }

  /**
   * The session as it is on disk, a new empty one when there is none.
   *
   * @throws VoiceError `HOST_UNAVAILABLE` when the file can't be read
   */
  get(key: string): Promise<Session> {
    return this.#use(key, () => this.#load(key));
  }

  /** Appends rows; `timestamp` is filled in where it is missing. */
  append(key: string, rows: readonly NewRow[]): Promise<void> {
    return this.#use(key, async () => {
      const session = await this.#load(key);
      const timestamp = this.#now();
      await this.#save(session, [...session.rows, ...rows.map((row) => ({ timestamp, ...row }))]);
    });
  }

  /** Puts in those of the turns that are not there yet; each turn once, however often it comes. */
  project(key: string, turns: readonly TurnRow[]): Promise<void> {
    return this.#use(key, async () => {
      const session = await this.#load(key);
      const rows = withTurns(session.rows, turns);
      if (rows !== session.rows) await this.#save(session, rows);
    });
  }

  /** Resolves when everything that was asked is on disk. */
  flush(): Promise<void> {
    return this.#queue.idle();
  }

  #use<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { isShared = false, clock, directory } = this.#options;
    if (!isShared) return this.#queue.run(key, work);
    return this.#queue.run(key, async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      return withFileLock(`${this.#path(key)}.lock`, clock, work);
    });
  }

  async #isCurrent(session: Session): Promise<boolean> {
    if (!this.#options.isShared) return true;
    return this.#stamps.get(session) === (await stampOf(this.#path(session.key)));
  }

  async #load(key: string): Promise<Session> {
    const cached = this.#cache.get(key);
    if (cached && (await this.#isCurrent(cached))) return this.#remember(cached);
    const path = this.#path(key);
    const text = await readIfThere(path);
    const { metadata, rows, damagedLines } = parseSession(text ?? '');
    const now = this.#now();
    const session: Session = {
      key,
      rows,
      createdAt: metadata?.created_at ?? now,
      updatedAt: metadata?.updated_at ?? now,
      metadata: metadata?.metadata ?? {},
      lastConsolidated: metadata?.last_consolidated ?? 0,
    };
    const damaged = text !== null && text !== '' && (metadata === null || damagedLines > 0);
    // Kept beside the repaired one: it may hold more than we can read.
    if (damaged) await rename(path, `${path}.damaged`);
    if (this.#options.isShared) this.#stamps.set(session, await stampOf(path));
    const repaired = withTurns(rows, await this.#finalTurns(key));
    if (damaged || repaired !== rows) return this.#save(session, repaired);
    return this.#remember(session);
  }

  async #finalTurns(key: string): Promise<TurnRow[]> {
    try {
      const turns = (await this.#options.turnsOf?.(key, MAX_REPAIRED_TURNS)) ?? [];
      return turns.filter((turn) => turn.finalAt !== null);
    } catch {
      // A store that is down must not keep a text turn from its history; the next start repairs.
      return [];
    }
  }

  async #save(session: Session, rows: readonly SessionRow[]): Promise<Session> {
    const saved: Session = { ...session, rows: lastRows(rows), updatedAt: this.#now() };
    // If the write fails, what is on the disk counts, not what was meant to be there.
    this.#cache.delete(session.key);
    try {
      await mkdir(this.#options.directory, { recursive: true, mode: 0o700 });
      await writeAtomically(
        this.#path(session.key),
        formatSession(
          {
            _type: 'metadata',
            key: saved.key,
            created_at: saved.createdAt,
            updated_at: saved.updatedAt,
            metadata: { ...saved.metadata },
            last_consolidated: Math.max(0, saved.lastConsolidated - (rows.length - saved.rows.length)),
          },
          saved.rows,
        ),
      );
    } catch (error) {
      throw new VoiceError('HOST_UNAVAILABLE', 'The session could not be written.', { cause: error });
    }
    if (this.#options.isShared) this.#stamps.set(saved, await stampOf(this.#path(saved.key)));
    return this.#remember(saved);
  }

  #remember(session: Session): Session {
    this.#cache.delete(session.key);
    this.#cache.set(session.key, session);
    const oldest = this.#cache.keys().next();
    if (this.#cache.size > MAX_CACHED_SESSIONS && !oldest.done) this.#cache.delete(oldest.value);
    return session;
  }

  #path(key: string): string {
    if (Buffer.byteLength(key) > MAX_SESSION_KEY_BYTES) {
      throw new VoiceError('REQUEST_INVALID', `A session key has at most ${MAX_SESSION_KEY_BYTES} bytes.`);
    }
    return join(this.#options.directory, `${Buffer.from(key).toString('base64url')}.jsonl`);
  }

  #now(): string {
    return new Date(this.#options.clock.wallNow()).toISOString();
  }
}

/** A row before it has its time. */
export type NewRow = SessionRow extends infer Row
  ? Row extends SessionRow
    ? Omit<Row, 'timestamp'> & { timestamp?: string }
    : never
  : never;

/** The same list when nothing is missing. */
function withTurns(rows: readonly SessionRow[], turns: readonly TurnRow[]): readonly SessionRow[] {
  const there = new Set(rows.map((row) => row.voice_turn));
  const missing = turns.filter((turn) => !there.has(turnMark(turn)));
  const added = missing.map(turnRows).filter((each) => each.length > 0);
  return added.length === 0 ? rows : added.reduce<readonly SessionRow[]>(insertTurn, rows);
}

/** The last rows that fit; never beginning with a tool's result whose call is gone. */
function lastRows(rows: readonly SessionRow[]): readonly SessionRow[] {
  if (rows.length <= MAX_SESSION_ROWS) return rows;
  const kept = rows.slice(-MAX_SESSION_ROWS);
  const start = kept.findIndex((row) => row.role !== 'tool');
  return start < 0 ? [] : kept.slice(start);
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new VoiceError('HOST_UNAVAILABLE', 'The session could not be read.', { cause: error });
  }
}
