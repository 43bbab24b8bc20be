/**
 * The outbox on the embedded store: how long a commit with a reply takes, and how many deliveries a second go through.
 *
 *   node --disable-warning=ExperimentalWarning bench/outbox.ts [replies]
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type TurnKey } from '../src/store/index.ts';

const replies = Number(process.argv[2] ?? 500);
const directory = mkdtempSync(join(tmpdir(), 'bench-outbox-'));
const store = await openStore({ engine: 'sqlite', file: join(directory, 'realtime.db') });
const tenant = 'bench';

const events: TurnKey[] = [];
for (let n = 0; n < replies; n += 1) {
  const callId = `call-${n}`;
  const sessionKey = `realtime:${callId}`;
  const now = Date.now();
  await store.beginCall({
    id: callId,
    sessionKey,
    carrier: 'bench',
    provider: 'bench',
    identityStrength: 'none',
    startedAt: now,
  });
  await store.openTurn({ callId, turn: 1, sessionKey, startedAt: now });
  const event = { callId, turn: 1 };
  const expiresAt = now + 3_600_000;
  const sha256 = n.toString(16).padStart(64, '0');
  await store.putAttachment({
    tenant,
    id: `a${n}`,
    kind: 'image',
    mime: 'image/png',
    name: 'a.png',
    size: 1,
    sha256,
    createdAt: now,
    expiresAt,
  });
  await store.bindAttachment(tenant, `a${n}`, event, now);
  await store.addIntent(
    {
      tenant,
      event,
      toolCallId: 't',
      attachmentId: `a${n}`,
      kind: 'image',
      caption: 'Picture',
      fallback: 'There is a picture.',
      target: { route: 'page', address: callId },
      requestId: `${callId}:1`,
      traceId: callId,
      createdAt: now,
      expiresAt,
    },
    5,
  );
  await store.recordExecuted(event, 't', {
    id: `audit-${n}`,
    at: now,
    tenant,
    type: 'tool.executed',
    event,
    tool: 'bench',
    detail: null,
  });
  events.push(event);
}

const tool = { callId: 't', name: 'bench', args: '{}', output: 'ok', isError: false };
const commits: number[] = [];
for (const { callId, turn } of events) {
  const from = performance.now();
  await store.commitTurn(callId, turn, { tools: [tool], replies: 'release' });
  commits.push(performance.now() - from);
}

const from = performance.now();
let delivered = 0;
for (;;) {
  const now = Date.now();
  const claimed = await store.claimOutbox({ owner: 'bench', now, leaseMs: 60_000, limit: 8 });
  if (claimed.length === 0) break;
  await Promise.all(
    claimed.map(({ row }) =>
      store.changeOutbox(row.deliveryId, row.fence, { status: 'sent', by: 'page', providerRef: null }, now),
    ),
  );
  delivered += claimed.length;
}
const seconds = (performance.now() - from) / 1000;
await store.close();
rmSync(directory, { recursive: true, force: true });

commits.sort((a, b) => a - b);
const at = (share: number) =>
  (commits[Math.min(commits.length - 1, Math.floor(commits.length * share))] ?? 0).toFixed(2);
console.log(
  `commit of a turn's outcome with one reply: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${commits.length})`,
);
console.log(`deliveries claimed and settled: ${(delivered / seconds).toFixed(0)} a second (${delivered})`);
