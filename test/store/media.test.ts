import { join } from 'node:path';
import { describe } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { mediaStoreContract } from './media-suite.ts';
import { tempDir } from './temp.ts';

describe('media on SQLite', () => {
  mediaStoreContract(() =>
    openStore({ engine: 'sqlite', file: join(tempDir('media-store'), 'realtime.db') }),
  );
});
