/** Another process on the same store: decides a request, and ends. `<database> <id> <approve|deny>` */
import { Approvals } from '../../src/approval/index.ts';
import { compilePolicy } from '../../src/approval/policy.ts';
import { realClock } from '../../src/clock.ts';
import { silentLogger } from '../../src/observe/index.ts';
import { openStore } from '../../src/store/index.ts';
import { approvalsConfig } from './rig.ts';

const [file = '', id = '', decision] = process.argv.slice(2);
const store = await openStore({ engine: 'sqlite', file });
const policy = compilePolicy(approvalsConfig({ toolGate: { requireApproval: ['*'] } }).toolGate);
const approvals = new Approvals({ store, clock: realClock, logger: silentLogger, policy: () => policy });
const approve = decision === 'approve';
const { ok } = await approvals.decide({ id, approve, by: 'operator', input: 'command_line' });
await store.close();
process.exitCode = ok ? 0 : 1;
