import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { workersStoreContract } from './workers-suite.ts';

describe('workers on one SQLite file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workers-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  workersStoreContract((node) => openStore({ engine: 'sqlite', file: join(folder, 'realtime.db'), node }));
});

const server = process.env.TEST_POSTGRES_URL;
const database = `workers_${randomBytes(6).toString('hex')}`;

async function admin(statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

describe.skipIf(!server)('workers on PostgreSQL', () => {
  const url = server ? Object.assign(new URL(server), { pathname: `/${database}` }).href : '';
  beforeAll(async () => {
    await admin(`create database ${database}`);
    // Brought up to date by one alone, as the first worker does.
    await (await openStore({ engine: 'postgres', url, node: 'first' })).close();
  });
  afterAll(() => admin(`drop database ${database} with (force)`));
  workersStoreContract((node) => openStore({ engine: 'postgres', url, node }));
});
