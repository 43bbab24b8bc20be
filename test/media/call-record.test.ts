import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadAudio, writeWav } from '../../src/audio/index.ts';
import type { SentMedia } from '../../src/media/index.ts';
import { type CallRecord, renderCallPage } from '../../src/observe/index.ts';
import { tempDir } from '../store/temp.ts';
import { MediaRig } from './rig.ts';
import { PNG } from './support.ts';

it('the page of the call shows the picture where it was sent, with its caption', async () => {
  const rig = await MediaRig.open();
  const callId = await rig.call({ hasPage: true });
  const told: SentMedia[] = [];
  rig.media.line = { ...rig.media.line, isLive: () => true, sent: (_, sent) => told.push(sent) };
  const connection = rig.media.pages.connect(callId, {
    send: (text) => connection?.message(JSON.stringify({ type: 'media.receipt', id: JSON.parse(text).id })),
    close: () => {},
  });
  connection?.message(JSON.stringify({ type: 'hello', shown: [] }));
  await rig.send(callId);
  await rig.deliver(1000);

  const picture = `data:image/png;base64,${PNG.toString('base64')}`;
  expect(told).toEqual([{ kind: 'image', caption: 'Test picture', route: 'page', picture }]);

  await loadAudio();
  const wav = join(tempDir('call-record'), 'call.wav');
  const silence = new Int16Array(8000);
  writeFileSync(wav, writeWav({ sampleRate: 8000, channels: [silence, silence], encoding: 'pcm16' }));
  const usage = { responses: 0, turns: [] } as unknown as CallRecord['usage'];
  const record: CallRecord = {
    version: 1,
    id: callId,
    carrier: 'webrtc',
    provider: 'command',
    identityStrength: 'none',
    startedAt: '2026-01-15T10:00:00.000Z',
    durationMs: 1000,
    endReason: 'caller_hangup',
    clock: 'virtual',
    events: told.map((sent) => ({ type: 'media', atMs: 400, ...sent })),
    eventsLeftOut: 0,
    latencies: [],
    usage,
    counters: {},
  };

  const page = await renderCallPage(record, wav);
  const forged = await renderCallPage(
    {
      ...record,
      events: [
        { type: 'media', atMs: 1, kind: 'image', caption: '<x>', route: 'page', picture: '"><script>' },
      ],
    },
    wav,
  );

  expect(page).toContain(`<img src="${picture}" alt="Test picture"`);
  expect(page).toContain('Test picture (image, shown on the page)');
  expect(page).toMatch(/<tr class="agent" data-at="400">/);
  expect(forged).not.toContain('<img');
  expect(forged).not.toContain('<x>');
  await rig.close();
});
