import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { MemoryApprovalStore } from '../approval/memory-store.ts';
import { approvalStoreContract, newApproval } from './approvals-suite.ts';
import { tempDir } from './temp.ts';

describe('approvals on SQLite', () => {
  approvalStoreContract(() => openStore({ engine: 'sqlite', file: ':memory:' }));

  it('are there after the file was closed and opened again', async () => {
    const file = join(tempDir('approvals'), 'realtime.db');
    const first = await openStore({ engine: 'sqlite', file });
    const row = await first.insertApproval(newApproval());
    await first.close();

    const second = await openStore({ engine: 'sqlite', file });

    expect(await second.getApproval(row.id)).toEqual(row);
    await second.close();
  });
});

describe('approvals in the double that the property test uses', () => {
  approvalStoreContract(async () => new MemoryApprovalStore());
});
