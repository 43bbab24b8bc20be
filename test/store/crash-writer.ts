/** Writes turns as fast as the disk takes them and names each on stdout once the store said it is there. */

import { writeSync } from 'node:fs';
import { openStore } from '../../src/store/index.ts';

const [file = '', callId = ''] = process.argv.slice(2);
const sessionKey = 'realtime:crash';
const store = await openStore({ engine: 'sqlite', file });
await store.beginCall({
  id: callId,
  sessionKey,
  carrier: 'wav',
  provider: 'command',
  identityStrength: 'none',
  startedAt: 1,
});
for (let turn = 0; ; turn += 1) {
  await store.openTurn({ callId, turn, sessionKey, startedAt: turn });
  const tool = (name: string) => ({ callId: name, name, args: '{}', output: `${turn}`, isError: false });
  await store.commitTurn(callId, turn, {
    userText: `u${turn}`,
    assistantText: `a${turn}`,
    tools: [tool('one'), tool('two')],
    finalAt: turn,
  });
  writeSync(1, `${turn}\n`);
}
