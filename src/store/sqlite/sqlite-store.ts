import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { VoiceError } from '../../errors.ts';
import type { FullStore } from '../contract.ts';
import type { StoreMethod, StoreOpening, StoreReply } from './protocol.ts';

/** Requests the worker may owe an answer to; the next one is refused. */
export const MAX_PENDING_REQUESTS = 1024;

interface Pending {
  resolve(value: unknown): void;
  reject(error: VoiceError): void;
}

const unavailable = (message: string, cause?: unknown) =>
  new VoiceError('STORE_UNAVAILABLE', message, cause === undefined ? undefined : { cause });

let begun: Worker | null = null;

/** Starts the thread of the database that is opened next, so that both load their code at once. */
export function beginSqliteThread(): void {
  if (begun) return;
  const thread = startThread();
  begun = thread;
  // One that fails before it is asked is forgotten: whoever opens starts another, and is told why it fails.
  thread.once('error', () => {});
  thread.once('exit', () => {
    if (begun === thread) begun = null;
  });
  thread.unref();
}

/** Another kind of database is opened. */
export function dropSqliteThread(): void {
  void begun?.terminate();
  begun = null;
}

function startThread(): Worker {
  const path = new URL(`./store-worker${extname(import.meta.url)}`, import.meta.url);
  return new Worker(path, {
    name: 'store',
    // `node:sqlite` calls itself experimental on its first use; that is not for every start to say.
    // Not the process's own flags: some of them are not for threads, and a worker refuses to start with those.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
}

/** The main thread's end of the worker: requests out, answers in, bounded. */
export class SqliteStore implements FullStore {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #gone: VoiceError | null = null;
  #closing: Promise<void> | null = null;

  private constructor(worker: Worker, onOpen: (failure: VoiceError | null) => void) {
    this.#worker = worker;
    worker.on('message', (message: StoreReply) => {
      if (message.kind === 'ready') onOpen(null);
      else if (message.kind === 'failed') onOpen(new VoiceError(message.code, message.message));
      else this.#onReply(message);
    });
    worker.on('error', (error) => this.#fail(unavailable('The store worker crashed.', error), onOpen));
    worker.on('exit', () => this.#fail(unavailable('The store is closed.'), onOpen));
  }

  /** @throws VoiceError `STORE_UNAVAILABLE`, `STORE_MIGRATION_FAILED` */
  static open(data: StoreOpening): Promise<SqliteStore> {
    const worker = begun ?? startThread();
    begun = null;
    worker.ref();
    worker.postMessage(data);
    return new Promise((resolve, reject) => {
      const store = new SqliteStore(worker, (failure) => {
        if (failure === null) {
          resolve(store);
          return;
        }
        reject(failure);
        void worker.terminate();
      });
    });
  }

  /** Requests under way; for tests and metrics. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  beginCall(...args: Parameters<FullStore['beginCall']>) {
    return this.#request('beginCall', args);
  }
  endCall(...args: Parameters<FullStore['endCall']>) {
    return this.#request('endCall', args);
  }
  getCall(...args: Parameters<FullStore['getCall']>) {
    return this.#request('getCall', args);
  }
  listCalls(...args: Parameters<FullStore['listCalls']>) {
    return this.#request('listCalls', args);
  }
  closeStaleCalls(...args: Parameters<FullStore['closeStaleCalls']>) {
    return this.#request('closeStaleCalls', args);
  }
  openTurn(...args: Parameters<FullStore['openTurn']>) {
    return this.#request('openTurn', args);
  }
  commitTurn(...args: Parameters<FullStore['commitTurn']>) {
    return this.#request('commitTurn', args);
  }
  listTurns(...args: Parameters<FullStore['listTurns']>) {
    return this.#request('listTurns', args);
  }
  listUnprojectedTurns(...args: Parameters<FullStore['listUnprojectedTurns']>) {
    return this.#request('listUnprojectedTurns', args);
  }
  markProjected(...args: Parameters<FullStore['markProjected']>) {
    return this.#request('markProjected', args);
  }
  insertApproval(...args: Parameters<FullStore['insertApproval']>) {
    return this.#request('insertApproval', args);
  }
  getApproval(...args: Parameters<FullStore['getApproval']>) {
    return this.#request('getApproval', args);
  }
  listApprovals(...args: Parameters<FullStore['listApprovals']>) {
    return this.#request('listApprovals', args);
  }
  changeApproval(...args: Parameters<FullStore['changeApproval']>) {
    return this.#request('changeApproval', args);
  }
  addApprovalEvent(...args: Parameters<FullStore['addApprovalEvent']>) {
    return this.#request('addApprovalEvent', args);
  }
  listApprovalEvents(...args: Parameters<FullStore['listApprovalEvents']>) {
    return this.#request('listApprovalEvents', args);
  }
  addGrant(...args: Parameters<FullStore['addGrant']>) {
    return this.#request('addGrant', args);
  }
  listGrants(...args: Parameters<FullStore['listGrants']>) {
    return this.#request('listGrants', args);
  }
  listAllGrants(...args: Parameters<FullStore['listAllGrants']>) {
    return this.#request('listAllGrants', args);
  }
  revokeGrants(...args: Parameters<FullStore['revokeGrants']>) {
    return this.#request('revokeGrants', args);
  }
  lastApprovalChange(...args: Parameters<FullStore['lastApprovalChange']>) {
    return this.#request('lastApprovalChange', args);
  }
  listApprovalChanges(...args: Parameters<FullStore['listApprovalChanges']>) {
    return this.#request('listApprovalChanges', args);
  }
  pinSalt(...args: Parameters<FullStore['pinSalt']>) {
    return this.#request('pinSalt', args);
  }
  takePinTry(...args: Parameters<FullStore['takePinTry']>) {
    return this.#request('takePinTry', args);
  }
  forgivePinTry(...args: Parameters<FullStore['forgivePinTry']>) {
    return this.#request('forgivePinTry', args);
  }
  mayTryPin(...args: Parameters<FullStore['mayTryPin']>) {
    return this.#request('mayTryPin', args);
  }
  rememberMessage(...args: Parameters<FullStore['rememberMessage']>) {
    return this.#request('rememberMessage', args);
  }
  sweepGuards(...args: Parameters<FullStore['sweepGuards']>) {
    return this.#request('sweepGuards', args);
  }
  recordCallMedia(...args: Parameters<FullStore['recordCallMedia']>) {
    return this.#request('recordCallMedia', args);
  }
  getCallMedia(...args: Parameters<FullStore['getCallMedia']>) {
    return this.#request('getCallMedia', args);
  }
  turnOfToolCall(...args: Parameters<FullStore['turnOfToolCall']>) {
    return this.#request('turnOfToolCall', args);
  }
  putAttachment(...args: Parameters<FullStore['putAttachment']>) {
    return this.#request('putAttachment', args);
  }
  bindAttachment(...args: Parameters<FullStore['bindAttachment']>) {
    return this.#request('bindAttachment', args);
  }
  findAttachment(...args: Parameters<FullStore['findAttachment']>) {
    return this.#request('findAttachment', args);
  }
  sweepAttachments(...args: Parameters<FullStore['sweepAttachments']>) {
    return this.#request('sweepAttachments', args);
  }
  usedDigests(...args: Parameters<FullStore['usedDigests']>) {
    return this.#request('usedDigests', args);
  }
  addIntent(...args: Parameters<FullStore['addIntent']>) {
    return this.#request('addIntent', args);
  }
  recordExecuted(...args: Parameters<FullStore['recordExecuted']>) {
    return this.#request('recordExecuted', args);
  }
  recoverReplies(...args: Parameters<FullStore['recoverReplies']>) {
    return this.#request('recoverReplies', args);
  }
  addMediaAudit(...args: Parameters<FullStore['addMediaAudit']>) {
    return this.#request('addMediaAudit', args);
  }
  listMediaAudit(...args: Parameters<FullStore['listMediaAudit']>) {
    return this.#request('listMediaAudit', args);
  }
  claimOutbox(...args: Parameters<FullStore['claimOutbox']>) {
    return this.#request('claimOutbox', args);
  }
  changeOutbox(...args: Parameters<FullStore['changeOutbox']>) {
    return this.#request('changeOutbox', args);
  }
  recordReceipt(...args: Parameters<FullStore['recordReceipt']>) {
    return this.#request('recordReceipt', args);
  }
  getOutbox(...args: Parameters<FullStore['getOutbox']>) {
    return this.#request('getOutbox', args);
  }
  listOutbox(...args: Parameters<FullStore['listOutbox']>) {
    return this.#request('listOutbox', args);
  }
  wakeOutbox(...args: Parameters<FullStore['wakeOutbox']>) {
    return this.#request('wakeOutbox', args);
  }
  retryOutbox(...args: Parameters<FullStore['retryOutbox']>) {
    return this.#request('retryOutbox', args);
  }
  dropOutbox(...args: Parameters<FullStore['dropOutbox']>) {
    return this.#request('dropOutbox', args);
  }
  openOutboxLink(...args: Parameters<FullStore['openOutboxLink']>) {
    return this.#request('openOutboxLink', args);
  }
  pruneMedia(...args: Parameters<FullStore['pruneMedia']>) {
    return this.#request('pruneMedia', args);
  }
  ping() {
    return this.#request('ping', []);
  }

  /** Lets what was asked before finish, then closes the file. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#gone) return;
    const closed = this.#send('close', []).catch(() => {});
    this.#gone = unavailable('The store is closed.');
    await closed;
    await this.#worker.terminate();
  }

  #request<M extends StoreMethod>(method: M, args: Parameters<FullStore[M]>): ReturnType<FullStore[M]> {
    // The worker answers with what the same method of the same interface gave there.
    return this.#send(method, args) as ReturnType<FullStore[M]>;
  }

  #send(method: StoreMethod | 'close', args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gone) throw this.#gone;
      // Closing must get through a full queue.
      if (this.#pending.size >= MAX_PENDING_REQUESTS && method !== 'close') {
        throw unavailable('The store has too many requests waiting; the disk is too slow.');
      }
      const id = this.#nextId++;
      this.#worker.postMessage({ id, method, args });
      this.#pending.set(id, { resolve, reject });
    });
  }

  #onReply(message: Extract<StoreReply, { id: number }>): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    this.#pending.delete(message.id);
    if (message.kind === 'ok') pending.resolve(message.value);
    else pending.reject(new VoiceError(message.code, message.message));
  }

  #fail(error: VoiceError, onOpen: (failure: VoiceError) => void): void {
    this.#gone ??= error;
    onOpen(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}
