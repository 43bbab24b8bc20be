/**
 * SQLite's own thread: `node:sqlite` is synchronous, and a slow disk must never be heard.
 *
 * @module
 */

import { parentPort } from 'node:worker_threads';
import { Kysely } from 'kysely';
import { type ErrorCode, isVoiceError } from '../../errors.ts';
import type { FullStore } from '../contract.ts';
import { createKyselyStore } from '../kysely-store.ts';
import { migrate } from '../migrate.ts';
import type { Tables } from '../tables.ts';
import { createSqliteDialect, openDatabase } from './dialect.ts';
import type { StoreOpening, StoreReply, StoreRequest } from './protocol.ts';

const port = parentPort;
if (!port) throw new Error('The store worker runs in a worker thread only.');
const reply = (message: StoreReply) => port.postMessage(message);

function coded(error: unknown): { code: ErrorCode; message: string } {
  if (isVoiceError(error)) return { code: error.code, message: error.message };
  return { code: 'STORE_UNAVAILABLE', message: 'The database could not be opened.' };
}

/** What tests inject where SQLite waits for the disk: a slow disk, or the end of the thread. */
function faults(data: StoreOpening): () => void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let commits = 0;
  return () => {
    if (!migrated) return;
    commits += 1;
    if (commits === data.testExitAtCommit) process.exit(1);
    if (data.testCommitDelayMs) Atomics.wait(never, 0, 0, data.testCommitDelayMs);
  };
}

let migrated = false;

async function open(data: StoreOpening): Promise<FullStore> {
  const faulty = data.testCommitDelayMs !== undefined || data.testExitAtCommit !== undefined;
  const dialect = createSqliteDialect(openDatabase(data.file), faulty ? faults(data) : undefined);
  const db = new Kysely<Tables>({ dialect });
  await migrate(db);
  migrated = true;
  return createKyselyStore(db, data.node);
}

async function answer(store: FullStore, request: StoreRequest): Promise<void> {
  try {
    const method = store[request.method] as (...args: readonly unknown[]) => Promise<unknown>;
    reply({ kind: 'ok', id: request.id, value: await method(...request.args) });
  } catch (error) {
    reply({ kind: 'error', id: request.id, ...coded(error) });
  }
  if (request.method === 'close') port?.close();
}

async function serve(data: StoreOpening): Promise<void> {
  try {
    const store = await open(data);
    // One after the other, in the order they came: a turn's commit never overtakes its opening.
    let last: Promise<void> = Promise.resolve();
    port?.on('message', (request: StoreRequest) => {
      last = last.then(() => answer(store, request));
    });
    reply({ kind: 'ready' });
  } catch (error) {
    reply({ kind: 'failed', ...coded(error) });
  }
}

port.once('message', (data: StoreOpening) => void serve(data));
