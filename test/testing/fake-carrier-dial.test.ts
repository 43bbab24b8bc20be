/** `FakeCarrier` calls the real server: webhook, one-use token, stream. */

import { afterEach, describe, expect, it } from 'vitest';
import { audioBytes, PCMU_8K } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { FakeCarrier } from '../../src/testing/index.ts';
import { AUTH_TOKEN, closeRigs, startRig } from '../server/rig.ts';

afterEach(closeRigs);

describe('FakeCarrier.dial', () => {
  it('gets through to a leg that hears it and is heard', async () => {
    const rig = await startRig();
    const heard: number[] = [];
    rig.desk.onAttach = (leg) => {
      leg.on('audio', (audio) => heard.push(audioBytes(audio)[0] ?? 0));
      leg.send('item_1', new Uint8Array(1600).fill(0x22));
      leg.mark('said');
      leg.on('played', (name) => {
        if (name === 'said') void leg.hangup();
      });
    };

    const { answer, carrier } = await FakeCarrier.dial(
      { webhookUrl: `${rig.url}/twilio/voice`, authToken: AUTH_TOKEN },
      { clock: realClock },
    );
    if (!carrier) throw new Error(answer.twiml);
    void carrier.speak(new Uint8Array(3200).fill(0x33));
    carrier.start();
    await carrier.wait(60_000);

    expect(answer.status).toBe(200);
    expect(carrier.isClosed).toBe(true);
    carrier.assertClean();
    const said = carrier.heardSegments(40);
    expect(said).toHaveLength(1);
    expect(said[0]?.audio.filter((byte) => byte === 0x22)).toHaveLength(1600);
    expect(heard.filter((byte) => byte === 0x33).length).toBeGreaterThan(3);
    expect(rig.desk.attached[0]?.leg.capabilities.input).toEqual(PCMU_8K);
  });

  it('signs for the public address while it talks to the local one', async () => {
    const rig = await startRig({ config: { server: { publicUrl: 'https://voice.example.com' } } });

    const { answer, carrier } = await FakeCarrier.dial(
      {
        webhookUrl: `${rig.url}/twilio/voice`,
        publicUrl: 'https://voice.example.com',
        authToken: AUTH_TOKEN,
      },
      { clock: realClock },
    );
    carrier?.reset();

    expect(answer.twiml).toContain('wss://voice.example.com/');
    expect(answer.streamUrl?.startsWith(rig.wsUrl)).toBe(true);
    expect(carrier).not.toBeNull();
  });

  it.each([
    ['with a wrong signature', { authToken: 'wrong' }],
    ['without one', {}],
  ])('is turned away %s', async (_what, signing) => {
    const rig = await startRig();

    const { answer, carrier } = await FakeCarrier.dial(
      { webhookUrl: `${rig.url}/twilio/voice`, ...signing },
      { clock: realClock },
    );

    expect(answer.status).toBe(403);
    expect(carrier).toBeNull();
    expect(rig.desk.admitted).toEqual([]);
  });

  it('hears why when the number does not take its call', async () => {
    const rig = await startRig({ config: { allowFrom: ['+15550177'] } });

    const { answer, carrier } = await FakeCarrier.dial(
      { webhookUrl: `${rig.url}/twilio/voice`, authToken: AUTH_TOKEN },
      { clock: realClock },
    );

    expect(carrier).toBeNull();
    expect(answer.twiml).toContain('<Say');
  });
});
