import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { SEND_TIMEOUT_MS } from '../../src/media/limits.ts';
import { FakeMessaging } from '../../src/testing/fake-messaging.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { MediaRig, NUMBER } from './rig.ts';

it('nothing hidden reaches the model, the logs or the audit, by any route, whatever goes wrong', {
  timeout: 60_000,
}, async () => {
  // Arrange: every route, every failure, with a log of everything.
  const logged: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => logged.push(line) });
  const clock = new FakeClock();
  const carrier = await FakeMessaging.listen({ now: () => clock.wallNow(), authToken: 'carrier-token-7f3a' });
  const { accountSid, authToken, baseUrl } = carrier;
  const rig = await MediaRig.open({
    clock,
    logger,
    config: {
      tools: { authorization: ['send_test_image', 'send_file', 'send_chart'].map((tool) => ({ tool })) },
      media: {
        consent: ['*'],
        chats: [{ person: 'ada', channel: 'telegram', chatId: 'chat-9917' }],
        messaging: { accountSid, authToken, baseUrl, from: '+15550100999', mmsPrefixes: ['+1'] },
      },
    },
    media: {
      publicUrl: 'https://voice.example',
      publish: () => {
        throw new Error('bus-error-4410');
      },
    },
  });
  const SECRET = 'file-content-5d1e';
  writeFileSync(join(rig.workspace, 'quarterly-7781.txt'), SECRET);
  carrier.next(
    { kind: 'reject', status: 400, code: 21614 },
    { kind: 'reject', status: 401, code: 20003 },
    { kind: 'rate_limit', retryAfterS: 1 },
    { kind: 'accept_then_reset' },
    { kind: 'server_error' },
  );
  const callers = [
    { strength: 'none', id: null },
    { strength: 'claimed', id: NUMBER },
    { strength: 'attested', id: NUMBER },
    { strength: 'attested', id: '+447700900123' },
    { strength: 'authenticated', id: 'ada' },
    { strength: 'none', id: null, hasPage: true },
  ] as const;

  // Act
  const model: string[] = [];
  const events: string[] = [];
  const callIds: string[] = [];
  for (const caller of callers) {
    const callId = await rig.call(caller);
    callIds.push(callId);
    const connection = rig.media.pages.connect(callId, {
      send: (text) => {
        events.push(text);
        connection?.message(JSON.stringify({ type: 'media.receipt', id: JSON.parse(text).id }));
      },
      close: () => {},
    });
    connection?.message(JSON.stringify({ type: 'hello', shown: [] }));
    model.push(JSON.stringify(rig.media.visible(callId, rig.registry.getDefinitions())));
    const chart = { title: 'arg-title-6602', labels: ['arg-label-6603'], values: [66.04] };
    for (const [name, args] of [
      ['send_test_image', {}],
      ['send_chart', chart],
      ['send_file', { path: 'quarterly-7781.txt', caption: 'arg-caption-6605' }],
      ['send_file', { path: '/etc/hosts' }],
      ['send_chart', { ...chart, labels: [] }],
    ] as const) {
      model.push(JSON.stringify(await rig.send(callId, name, args)));
    }
    await rig.deliver(SEND_TIMEOUT_MS);
  }
  for (let round = 0; round < 5; round += 1) await rig.deliver(60_000);

  // Assert: search for all of it.
  const rows = await rig.store.listOutbox({ limit: 1000 });
  expect(rows.length).toBeGreaterThanOrEqual(callers.length * 3);
  const attachments = await Promise.all(
    rows.map(({ tenant, event, attachmentId }) => rig.media.attachments.find(tenant, event, attachmentId)),
  );
  const key = readFileSync(join(rig.directory, 'links.key'), 'utf8');
  const hidden = [
    ...rows.flatMap(({ deliveryId, attachmentId, providerRef }) => [deliveryId, attachmentId, providerRef]),
    ...attachments.map(({ sha256 }) => sha256),
    ...carrier.messages.flatMap(({ sid, mediaUrl }) => [sid, mediaUrl]),
    ...events.map((text) => JSON.parse(text).url),
    ...[NUMBER, '447700900123', '15550100999', 'chat-9917'],
    ...[rig.directory, rig.workspace, '/blobs', 'links.key', key],
    ...[accountSid, authToken, baseUrl, 'voice.example', 'secret words of the provider', 'bus-error-4410'],
    ...['arg-title-6602', 'arg-label-6603', '66.04', 'arg-caption-6605', 'quarterly-7781', '/etc/hosts'],
    ...[SECRET, Buffer.from(SECRET).toString('base64'), 'iVBORw0KGgo'],
  ].filter((each): each is string => typeof each === 'string');
  const audit = JSON.stringify(await rig.store.listMediaAudit({ limit: 1000 }));
  const found = (text: string) => hidden.filter((each) => text.includes(each));

  expect(carrier.messages.length).toBeGreaterThan(0);
  expect(events.length).toBeGreaterThan(0);
  expect(logged.length).toBeGreaterThan(10);
  expect(audit.length).toBeGreaterThan(1000);
  expect(found(model.join('\n'))).toEqual([]);
  expect(found(logged.join('\n'))).toEqual([]);
  expect(found(audit)).toEqual([]);
  // The search itself finds what is there.
  expect(found(JSON.stringify(rows)).length).toBeGreaterThan(20);

  await rig.close();
  await carrier.close();
});
