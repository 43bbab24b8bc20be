import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {
  FullStore,
  MediaAudit,
  NewAttachment,
  OutboxRow,
  ReplyIntent,
  ToolOutcome,
  TurnKey,
} from '../../src/store/index.ts';
import { REPLY_HOLD_MS } from '../../src/store/reply-queries.ts';

const id = () => randomBytes(16).toString('hex');
/** Every test has a time of its own, later than the ones before. */
let epoch = 1_700_000_000_000;
const DAY = 86_400_000;
const BUDGET = 5;

const attachment = (over: Partial<NewAttachment> = {}): NewAttachment => ({
  tenant: 'acme',
  id: `att_${id()}`,
  kind: 'image',
  mime: 'image/png',
  name: 'a.png',
  size: 3,
  sha256: id() + id(),
  createdAt: epoch,
  expiresAt: epoch + DAY,
  ...over,
});

const executed = (event: TurnKey, toolCallId: string): MediaAudit => ({
  id: `${event.callId}:${event.turn}:${toolCallId}:tool.executed`,
  at: epoch,
  tenant: 'acme',
  type: 'tool.executed',
  event,
  tool: 'send_test_image',
  detail: null,
});

const outcome = (callId: string, isError = false): ToolOutcome => ({
  callId,
  name: 'send_test_image',
  args: '{}',
  output: 'ok',
  isError,
});

/** What every engine has to do with media. `open` gives a store that may hold other tests' rows. */
export function mediaStoreContract(open: () => Promise<FullStore>): void {
  let store: FullStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());
  // What a test left under way would be claimed by the next.
  afterEach(async () => {
    for (const row of await store.listOutbox()) await store.dropOutbox(row.deliveryId, epoch);
  });

  const turn = async (): Promise<TurnKey> => {
    epoch += 10 * DAY;
    const callId = id();
    const sessionKey = `realtime:${callId}`;
    await store.beginCall({
      id: callId,
      sessionKey,
      carrier: 'wav',
      provider: 'command',
      identityStrength: 'none',
      startedAt: epoch,
    });
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: epoch });
    await store.recordCallMedia({
      callId,
      tenant: 'acme',
      sessionKey,
      revision: 'r1',
      tools: ['send_test_image'],
      targets: [{ route: 'page', address: callId }],
      createdAt: epoch,
    });
    return { callId, turn: 1 };
  };

  /** A tool that put, bound, recorded and was executed; not committed yet. */
  const intend = async (event: TurnKey, toolCallId = id(), over: Partial<ReplyIntent> = {}) => {
    const row = attachment();
    await store.putAttachment(row);
    await store.bindAttachment('acme', row.id, event, epoch);
    const intent: ReplyIntent = {
      tenant: 'acme',
      event,
      toolCallId,
      attachmentId: row.id,
      kind: 'image',
      caption: 'A picture',
      fallback: 'There is a picture.',
      target: { route: 'page', address: event.callId },
      requestId: 'req',
      traceId: event.callId,
      createdAt: epoch,
      expiresAt: epoch + DAY,
      ...over,
    };
    const added = await store.addIntent(intent, BUDGET);
    return { toolCallId, intent, added };
  };

  const queue = async (event: TurnKey, over: Partial<ReplyIntent> = {}): Promise<void> => {
    const { toolCallId } = await intend(event, id(), over);
    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));
    await store.commitTurn(event.callId, event.turn, { tools: [outcome(toolCallId)], replies: 'release' });
  };

  const rows = async (event: TurnKey): Promise<OutboxRow[]> =>
    (await store.listOutbox({ callId: event.callId })).sort((a, b) => a.segment - b.segment);

  const claim = (now = epoch, owner = 'w1', limit = 10) =>
    store.claimOutbox({ owner, now, leaseMs: 1000, limit });

  it('keeps what a call started with, and takes no second version of it', async () => {
    const event = await turn();
    const first = await store.getCallMedia(event.callId);

    await store.recordCallMedia({ ...(first as NonNullable<typeof first>), revision: 'r2', tools: [] });

    expect(await store.getCallMedia(event.callId)).toEqual(first);
    expect(first).toMatchObject({ revision: 'r1', tools: ['send_test_image'] });
  });

  it('takes the same attachment twice, and refuses another under its id', async () => {
    const row = attachment();

    expect(await store.putAttachment(row)).toBe('created');
    expect(await store.putAttachment({ ...row, createdAt: epoch + 1 })).toBe('same');
    await expect(store.putAttachment({ ...row, size: 4 })).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    await expect(store.putAttachment({ ...row, tenant: 'other', size: 4 })).resolves.toBe('created');
  });

  it('binds an attachment to one event that is there, and finds it by tenant, event and id only', async () => {
    const event = await turn();
    const other = await turn();
    const row = attachment();
    await store.putAttachment(row);

    expect(await store.findAttachment('acme', row.id, event, epoch)).toBeNull();
    expect(await store.bindAttachment('acme', row.id, { callId: event.callId, turn: 9 }, epoch)).toBe(false);
    expect(await store.bindAttachment('acme', row.id, event, epoch)).toBe(true);
    expect(await store.bindAttachment('acme', row.id, event, epoch)).toBe(true);
    expect(await store.bindAttachment('acme', row.id, other, epoch)).toBe(false);
    expect(await store.bindAttachment('acme', 'att_nobody', event, epoch)).toBe(false);

    expect(await store.findAttachment('acme', row.id, event, epoch)).toEqual({ ...row, event });
    expect(await store.findAttachment('other', row.id, event, epoch)).toBeNull();
    expect(await store.findAttachment('acme', row.id, other, epoch)).toBeNull();
    expect(await store.findAttachment('acme', row.id, event, row.expiresAt)).toBeNull();
  });

  it('sweeps what expired and names the digests that nothing uses any more', async () => {
    const event = await turn();
    const shared = id() + id();
    const kept = attachment({ sha256: shared, expiresAt: epoch + 2 * DAY });
    const gone = attachment({ sha256: shared, expiresAt: epoch + 1 });
    const alone = attachment({ expiresAt: epoch + 1 });
    for (const each of [kept, gone, alone]) await store.putAttachment(each);

    const digests = await store.sweepAttachments(epoch + 1, 100);

    expect(digests).toContain(alone.sha256);
    expect(digests).not.toContain(shared);
    expect(await store.bindAttachment('acme', gone.id, event, epoch)).toBe(false);
    expect(await store.bindAttachment('acme', kept.id, event, epoch)).toBe(true);
  });

  it('puts what a tool meant to send into the outbox in the commit of its outcome', async () => {
    const event = await turn();
    const { toolCallId, intent } = await intend(event);
    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));
    expect(await rows(event)).toEqual([]);

    await store.commitTurn(event.callId, 1, { tools: [outcome(toolCallId)] });

    expect(await rows(event)).toMatchObject([
      {
        tenant: 'acme',
        event,
        segment: 0,
        kind: 'image',
        caption: intent.caption,
        fallback: intent.fallback,
        target: intent.target,
        attachmentId: intent.attachmentId,
        requestId: 'req',
        traceId: event.callId,
        status: 'pending',
        attempts: 0,
        availableAt: epoch + REPLY_HOLD_MS,
      },
    ]);
  });

  it('commits the same outcome again without a second row', async () => {
    const event = await turn();
    const { toolCallId } = await intend(event);
    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));

    await store.commitTurn(event.callId, 1, { tools: [outcome(toolCallId)] });
    await store.commitTurn(event.callId, 1, { tools: [outcome(toolCallId)] });

    expect(await rows(event)).toHaveLength(1);
  });

  it('queues nothing of a tool that failed or was not executed, whatever it had recorded', async () => {
    const event = await turn();
    const failed = await intend(event);
    await store.recordExecuted(event, failed.toolCallId, executed(event, failed.toolCallId));
    const unfinished = await intend(event);

    await store.commitTurn(event.callId, 1, {
      tools: [outcome(failed.toolCallId, true), outcome(unfinished.toolCallId)],
      finalAt: epoch,
    });
    await store.recoverReplies(epoch, 100);

    expect(await rows(event)).toEqual([]);
  });

  it('takes an attachment once per reply and no more than the budget per call', async () => {
    const event = await turn();
    const first = await intend(event);

    expect(first.added).toBe('added');
    expect(await store.addIntent(first.intent, BUDGET)).toBe('same');
    for (let n = 1; n < BUDGET; n += 1) expect((await intend(event)).added).toBe('added');
    expect((await intend(event)).added).toBe('over_budget');
    expect(await store.addIntent(first.intent, BUDGET)).toBe('same');
  });

  it('drops what a failed turn queued, and lets the rest of the call be', async () => {
    const event = await turn();
    const { toolCallId } = await intend(event);
    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));
    await store.commitTurn(event.callId, 1, { tools: [outcome(toolCallId)] });

    await store.commitTurn(event.callId, 1, { replies: 'drop' });

    expect(await rows(event)).toMatchObject([
      { status: 'dead_letter', lastError: 'turn_failed', traceId: event.callId },
    ]);
    expect(await claim(epoch + REPLY_HOLD_MS)).toEqual([]);
  });

  it('queues, after a crash, what was executed and not committed, once', async () => {
    const event = await turn();
    const { toolCallId } = await intend(event);
    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));
    expect(await store.recoverReplies(epoch, 100)).toBe(0);
    await store.commitTurn(event.callId, 1, { finalAt: epoch });

    expect(await store.recoverReplies(epoch, 100)).toBe(1);
    expect(await store.recoverReplies(epoch, 100)).toBe(0);

    expect(await rows(event)).toHaveLength(1);
  });

  it('queues at once for a tool whose outcome was committed before it ran', async () => {
    const event = await turn();
    const { toolCallId } = await intend(event);
    await store.commitTurn(event.callId, 1, {
      tools: [{ ...outcome(toolCallId), output: 'waits for approval' }],
    });
    expect(await store.turnOfToolCall(event.callId, toolCallId)).toBe(1);

    await store.recordExecuted(event, toolCallId, executed(event, toolCallId));

    expect(await rows(event)).toHaveLength(1);
  });

  it('lets go at once what was approved after its turn was over, and holds it while the turn is open', async () => {
    for (const isOver of [true, false]) {
      const event = await turn();
      const { toolCallId } = await intend(event);
      const tool = { ...outcome(toolCallId), output: 'waits for approval' };
      await store.commitTurn(event.callId, 1, { tools: [tool], ...(isOver && { finalAt: epoch }) });
      await store.recordExecuted(event, toolCallId, executed(event, toolCallId));

      expect(await claim()).toHaveLength(isOver ? 1 : 0);
      for (const { deliveryId } of await rows(event)) await store.dropOutbox(deliveryId, epoch);
    }
  });

  it('gives a due row to one worker, with a fence that the next claim outdates', async () => {
    const event = await turn();
    await queue(event);

    const [first] = await claim();
    expect(first).toMatchObject({
      reconcile: false,
      row: { status: 'sending', attempts: 1, fence: 1, leaseOwner: 'w1', leaseUntil: epoch + 1000 },
    });
    expect(await claim(epoch + 999)).toEqual([]);

    const [second] = await claim(epoch + 1000, 'w2');
    expect(second).toMatchObject({ reconcile: true, row: { attempts: 1, fence: 2, leaseOwner: 'w2' } });

    const deliveryId = first?.row.deliveryId ?? '';
    const sent = { status: 'sent', by: 'page', providerRef: null } as const;
    expect(await store.changeOutbox(deliveryId, 1, sent, epoch)).toBe(false);
    expect(await store.changeOutbox(deliveryId, 2, sent, epoch)).toBe(true);
    expect(await store.changeOutbox(deliveryId, 2, sent, epoch)).toBe(false);
    expect(await store.getOutbox(deliveryId)).toMatchObject({
      status: 'sent',
      deliveredBy: 'page',
      leaseOwner: null,
    });
  });

  it('lets two workers that claim at once take different rows', async () => {
    const events = [await turn(), await turn(), await turn(), await turn()];
    for (const event of events) await queue(event, { createdAt: epoch, expiresAt: epoch + DAY });

    const [a, b] = await Promise.all([claim(epoch, 'w1', 2), claim(epoch, 'w2', 2)]);

    const ids = [...a, ...b].map(({ row }) => row.deliveryId);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toHaveLength(4);
  });

  it('keeps the order within a reply: a later segment waits, and dies with an earlier one', async () => {
    const event = await turn();
    await queue(event);
    await queue(event);

    const [first, ...none] = await claim();
    expect(none).toEqual([]);
    expect(first?.row.segment).toBe(0);
    const deliveryId = first?.row.deliveryId ?? '';
    await store.changeOutbox(
      deliveryId,
      1,
      { status: 'retryable', error: 'timeout', availableAt: epoch + 50 },
      epoch,
    );
    expect(await claim(epoch + 49)).toEqual([]);
    const [again] = await claim(epoch + 50);
    expect(again).toMatchObject({ reconcile: false, row: { segment: 0, attempts: 2, fence: 2 } });

    await store.changeOutbox(deliveryId, 2, { status: 'dead_letter', error: 'invalid' }, epoch);

    expect(await claim(epoch + 50)).toEqual([]);
    expect(await rows(event)).toMatchObject([
      { status: 'dead_letter', lastError: 'invalid' },
      { status: 'dead_letter', lastError: 'preceding_segment_dead_lettered' },
    ]);
  });

  it('never gives an unknown attempt out as a new one, only to be asked about', async () => {
    const event = await turn();
    await queue(event);
    const [first] = await claim();
    const deliveryId = first?.row.deliveryId ?? '';
    await store.changeOutbox(deliveryId, 1, { status: 'unknown', availableAt: epoch + 500 }, epoch);

    expect(await claim(epoch + 499)).toEqual([]);
    expect(await claim(epoch + 500)).toMatchObject([
      { reconcile: true, row: { attempts: 1, lastError: 'unknown' } },
    ]);
  });

  it('uncounts an attempt that reached nobody, and wakes what waits for a page', async () => {
    const event = await turn();
    await queue(event);
    const [first] = await claim();
    const deliveryId = first?.row.deliveryId ?? '';
    const later = {
      status: 'retryable',
      error: 'not_ready',
      availableAt: epoch + 9000,
      uncounted: true,
    } as const;
    await store.changeOutbox(deliveryId, 1, later, epoch);

    await store.wakeOutbox(event.callId, 'page', epoch + 10);

    expect(await claim(epoch + 10)).toMatchObject([{ row: { attempts: 1, fence: 2 } }]);
  });

  it('retries and drops by hand, and only what is not done or under way', async () => {
    const event = await turn();
    await queue(event);
    const [first] = await claim();
    const deliveryId = first?.row.deliveryId ?? '';
    expect(await store.retryOutbox(deliveryId, epoch)).toBe(false);
    await store.changeOutbox(deliveryId, 1, { status: 'unknown', availableAt: epoch }, epoch);

    expect(await store.retryOutbox(deliveryId, epoch)).toBe(true);
    expect(await claim()).toMatchObject([{ reconcile: false, row: { attempts: 1, fence: 3 } }]);
    expect(await store.dropOutbox(deliveryId, epoch)).toBe(true);
    expect(await store.dropOutbox(deliveryId, epoch)).toBe(false);
    expect(
      await store.changeOutbox(deliveryId, 3, { status: 'sent', by: 'page', providerRef: null }, epoch),
    ).toBe(false);
    expect(await store.retryOutbox(deliveryId, epoch)).toBe(true);
    expect(await store.retryOutbox(deliveryId, epoch + DAY)).toBe(false);
  });

  it('makes what is past its end a dead letter', async () => {
    const event = await turn();
    await queue(event);

    expect(await claim(epoch + DAY)).toEqual([]);

    expect(await rows(event)).toMatchObject([{ status: 'dead_letter', lastError: 'expired' }]);
  });

  describe('what a provider says later of what it accepted', () => {
    const audit = (event: TurnKey, detail: string): MediaAudit => ({
      ...executed(event, detail),
      id: `${event.callId}:${detail}:${id()}`,
      type: 'delivery.reconciled',
      tool: null,
      detail,
    });
    const sent = async (providerRef: string | null) => {
      const event = await turn();
      await queue(event);
      const [claimed] = await claim();
      const { deliveryId, fence } = claimed!.row;
      await store.changeOutbox(deliveryId, fence, { status: 'sent', by: 'mms', providerRef }, epoch);
      return { event, deliveryId };
    };

    it('is kept, the first word only', async () => {
      const { event, deliveryId } = await sent('SM1');
      const say = (receipt: 'delivered' | 'failed') =>
        store.recordReceipt(deliveryId, 'SM1', receipt, 'sms', epoch, audit(event, receipt));

      expect([await say('delivered'), await say('delivered'), await say('failed')]).toEqual([
        'recorded',
        'none',
        'none',
      ]);
      expect(await rows(event)).toMatchObject([{ status: 'sent', receipt: 'delivered' }]);
    });

    it('sends it by another way, once, or makes it a dead letter', async () => {
      const { event, deliveryId } = await sent('SM1');
      const say = (next: 'sms' | null) =>
        store.recordReceipt(deliveryId, 'SM1', 'failed', next, epoch, audit(event, 'failed'));
      expect([await say('sms'), await say('sms')]).toEqual(['recorded', 'none']);
      const [again] = await claim();
      expect(again).toMatchObject({ reconcile: false, row: { attemptRoute: 'sms', attempts: 1 } });
      const { fence } = again!.row;
      await store.changeOutbox(deliveryId, fence, { status: 'sent', by: 'sms', providerRef: 'SM1' }, epoch);

      expect(await say(null)).toBe('recorded');
      expect(await rows(event)).toMatchObject([
        { status: 'dead_letter', receipt: 'failed', lastError: 'provider_rejected' },
      ]);
    });

    it('is about that message only, and may come before we have written it down', async () => {
      const { event, deliveryId } = await sent('SM2');
      const say = (ref: string) =>
        store.recordReceipt(deliveryId, ref, 'failed', null, epoch, audit(event, 'failed'));
      expect(await say('SM1')).toBe('none');
      expect(await store.recordReceipt('no-such', 'SM1', 'failed', null, epoch, audit(event, 'x'))).toBe(
        'none',
      );
      // Found on the provider's list, there was no id; now there is.
      const found = await sent(null);
      expect(
        await store.recordReceipt(found.deliveryId, 'SM9', 'delivered', null, epoch, audit(event, 'd')),
      ).toBe('recorded');
      expect(await rows(found.event)).toMatchObject([{ providerRef: 'SM9', receipt: 'delivered' }]);

      const other = await turn();
      await queue(other);
      const [claimed] = await claim();
      const early = await store.recordReceipt(
        claimed!.row.deliveryId,
        'SM3',
        'failed',
        null,
        epoch,
        audit(other, 'failed'),
      );
      expect(early).toBe('early');
    });
  });

  it('counts the uses of a link up to its bound', async () => {
    const event = await turn();
    await queue(event);
    const [row] = await rows(event);
    const deliveryId = row?.deliveryId ?? '';

    const uses = [];
    for (let n = 0; n < 4; n += 1) uses.push(await store.openOutboxLink(deliveryId, 3));

    expect(uses).toEqual([true, true, true, false]);
  });

  it('writes an audit entry once, and refuses another under its id', async () => {
    const event = await turn();
    const entry = executed(event, 't1');

    await store.addMediaAudit(entry);
    await store.addMediaAudit({ ...entry, at: epoch + 5 });

    await expect(store.addMediaAudit({ ...entry, tool: 'send_file' })).rejects.toMatchObject({
      code: 'STORE_CONFLICT',
    });
    expect(await store.listMediaAudit({ callId: event.callId })).toEqual([entry]);
  });

  it('changes nothing that was fixed when the row was written, however it fares', async () => {
    const event = await turn();
    await queue(event);
    const fixed = ({
      tenant,
      event: of,
      segment,
      deliveryId,
      kind,
      caption,
      attachmentId,
      ...row
    }: OutboxRow) => ({
      tenant,
      of,
      segment,
      deliveryId,
      kind,
      caption,
      attachmentId,
      fallback: row.fallback,
      target: row.target,
      requestId: row.requestId,
      traceId: row.traceId,
      createdAt: row.createdAt,
      expiresAt: row.expiresAt,
    });
    const [before] = await rows(event);
    const deliveryId = before?.deliveryId ?? '';

    await claim();
    await store.changeOutbox(
      deliveryId,
      1,
      { status: 'sending', route: 'spoken', leaseUntil: epoch + 9 },
      epoch,
    );
    await store.changeOutbox(deliveryId, 1, { status: 'retryable', error: 'timeout', availableAt: 0 }, epoch);
    await store.retryOutbox(deliveryId, epoch);
    await claim();
    await store.changeOutbox(deliveryId, 3, { status: 'sent', by: 'spoken', providerRef: 'x' }, epoch);

    const [after] = await rows(event);
    expect(after?.status).toBe('sent');
    expect(fixed(after as OutboxRow)).toEqual(fixed(before as OutboxRow));
  });

  it('forgets what is finished and old', async () => {
    const event = await turn();
    await queue(event);
    const [row] = await rows(event);
    await store.dropOutbox(row?.deliveryId ?? '', epoch);

    await store.pruneMedia(epoch);

    expect(await rows(event)).toEqual([]);
    expect(await store.listMediaAudit({ callId: event.callId })).toEqual([]);
    expect(await store.getCallMedia(event.callId)).toBeNull();
  });
}
