/**
 * What each session has read and written: so that a second read of the same file costs nothing, and an edit of a
 * file that nobody looked at says so. nanobot 0.3.0, `agent/tools/file_state.py`.
 *
 * @module
 */

import type { FileFingerprint, FileStates, ReadWindow } from '../../gateway/index.ts';

/** Sessions remembered; the one unused for longest is forgotten first. */
export const MAX_FILE_STATE_SESSIONS = 128;

/** Files remembered per session. */
export const MAX_FILES_PER_SESSION = 1024;

const NOT_READ = 'Warning: file has not been read yet. Read it first to verify content before editing.';
const MODIFIED = 'Warning: file has been modified since last read. Re-read to verify content before editing.';

/** A map that forgets what was used least recently. */
class RecentMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | null {
    const value = this.#entries.get(key);
    if (value === undefined) return null;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#limit && !oldest.done) this.#entries.delete(oldest.value);
  }

  clear(): void {
    this.#entries.clear();
  }
}

interface FileState {
  readonly fingerprint: FileFingerprint;
  /** `null` after a write: the next read shows the file whatever window it asks for. */
  readonly window: ReadWindow | null;
}

const sameContent = (a: FileFingerprint, b: FileFingerprint) => a.contentHash === b.contentHash;

/** The file states of one session. */
export class SessionFileStates implements FileStates {
  readonly #files = new RecentMap<FileState>(MAX_FILES_PER_SESSION);

  get size(): number {
    return this.#files.size;
  }

  recordRead(path: string, window: ReadWindow, fingerprint: FileFingerprint): void {
    this.#files.set(path, { fingerprint, window });
  }

  recordWrite(path: string, fingerprint: FileFingerprint): void {
    this.#files.set(path, { fingerprint, window: null });
  }

  isUnchanged(path: string, window: ReadWindow, fingerprint: FileFingerprint): boolean {
    const state = this.#files.get(path);
    if (state === null || state.window === null) return false;
    if (state.window.offset !== window.offset || state.window.limit !== window.limit) return false;
    // A touched file is shown again even when its content is the same, as nanobot does.
    return state.fingerprint.mtimeMs === fingerprint.mtimeMs && sameContent(state.fingerprint, fingerprint);
  }

  editWarning(path: string, fingerprint: FileFingerprint): string | null {
    const state = this.#files.get(path);
    if (state === null) return NOT_READ;
    return sameContent(state.fingerprint, fingerprint) ? null : MODIFIED;
  }
}

/** The file states of every session. */
export class FileStateStore {
  readonly #sessions = new RecentMap<SessionFileStates>(MAX_FILE_STATE_SESSIONS);

  get size(): number {
    return this.#sessions.size;
  }

  /** The states of a session, made on first use. */
  forSession(sessionKey: string): FileStates {
    const found = this.#sessions.get(sessionKey);
    if (found !== null) return found;
    const made = new SessionFileStates();
    this.#sessions.set(sessionKey, made);
    return made;
  }

  clear(): void {
    this.#sessions.clear();
  }
}
