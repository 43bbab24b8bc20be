/**
 * The guarded context: the three things a tool may know about the call it serves (what the session has read,
 * who asks, which workspace is open). A text turn and a call through the gateway bind the very same three, in
 * the same order, so there is no way to a tool that skips them.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';

/** What one read or write of a file looked like; enough to tell later whether the file is still the same. */
export interface FileFingerprint {
  /** Modification time in milliseconds, as `fs.Stats.mtimeMs`. */
  readonly mtimeMs: number;
  /** SHA-256 of the content, hex. */
  readonly contentHash: string;
}

/** The lines a read asked for; `limit` is `null` when the call left it out. */
export interface ReadWindow {
  readonly offset: number;
  readonly limit: number | null;
}

/** What one session has read and written; paths are physical (no links in them). */
export interface FileStates {
  recordRead(path: string, window: ReadWindow, fingerprint: FileFingerprint): void;
  recordWrite(path: string, fingerprint: FileFingerprint): void;
  /** True when this very window was read before and nothing changed since. */
  isUnchanged(path: string, window: ReadWindow, fingerprint: FileFingerprint): boolean;
  /** The warning an edit must carry, or `null` when the session knows the file's present content. */
  editWarning(path: string, fingerprint: FileFingerprint): string | null;
}

/** Who asks, and where an answer goes. */
export interface RequestContext {
  readonly channel: string;
  readonly chatId: string;
  readonly messageId: string | null;
  /** `channel:chatId`, or the key that overrides it. */
  readonly sessionKey: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The live call that asks, where it is one; what a tool sends belongs to this turn of it. */
  readonly call?: { readonly callId: string; readonly toolCallId: string; readonly turn?: number };
}

/** Where file tools may work during this call. */
export interface WorkspaceScope {
  /** Absolute path of the workspace. */
  readonly workspace: string;
  readonly restrictToWorkspace: boolean;
  /** Set only for `websocket`, the one channel that may ever reach loopback; `null` for every other. */
  readonly sourceChannel: string | null;
}

/** What `runGuarded` binds. */
export interface GuardedContext {
  readonly fileStates: FileStates;
  readonly request: RequestContext;
  readonly workspaceScope: WorkspaceScope;
}

/** A value that stops being visible when its call is over, even to work that the call left running. */
class Binding<T> {
  #value: T | null;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T | null {
    return this.#value;
  }

  release(): void {
    this.#value = null;
  }
}

const fileStatesStorage = new AsyncLocalStorage<Binding<FileStates>>();
const requestStorage = new AsyncLocalStorage<Binding<RequestContext>>();
const workspaceScopeStorage = new AsyncLocalStorage<Binding<WorkspaceScope>>();

async function bound<T, R>(
  storage: AsyncLocalStorage<Binding<T>>,
  value: T,
  work: () => Promise<R>,
): Promise<R> {
  const binding = new Binding(value);
  try {
    return await storage.run(binding, work);
  } finally {
    binding.release();
  }
}

/**
 * Runs `work` with file states, request and workspace scope bound, in that order, and releases them in reverse
 * when it settles (nanobot's `agent/loop.py` does the same with context variables). Concurrent and nested calls
 * see only their own; work that outlives its call sees nothing, which every guard reads as the strictest case.
 *
 * @returns what `work` returned; rejects with what it threw
 */
export function runGuarded<R>(context: GuardedContext, work: () => Promise<R> | R): Promise<R> {
  return bound(fileStatesStorage, context.fileStates, () =>
    bound(requestStorage, context.request, () =>
      bound(workspaceScopeStorage, context.workspaceScope, async () => work()),
    ),
  );
}

/** The session's file states, or `null` outside a guarded call. */
export function currentFileStates(): FileStates | null {
  return fileStatesStorage.getStore()?.value ?? null;
}

/** Who asks, or `null` outside a guarded call. */
export function currentRequestContext(): RequestContext | null {
  return requestStorage.getStore()?.value ?? null;
}

/** The workspace of this call, or `null` outside a guarded call: then the default one holds, restricted. */
export function currentWorkspaceScope(): WorkspaceScope | null {
  return workspaceScopeStorage.getStore()?.value ?? null;
}
