import { afterEach, describe, expect, it } from 'vitest';
import { placeOutsideCall } from './outside-caller.ts';
import { AUTH_TOKEN, closeRigs, startRig } from './rig.ts';

afterEach(closeRigs);

const FRAME = Buffer.alloc(160, 0x2a);

describe("an outside program that speaks Twilio's messages", () => {
  it('places a call, is heard, and hears the answer to its end', async () => {
    const rig = await startRig();
    let heardFrames = 0;
    const digits: string[] = [];
    const played: string[] = [];
    rig.desk.onAttach = (leg) => {
      leg.on('dtmf', (digit) => digits.push(digit));
      leg.on('audio', () => {
        heardFrames += 1;
        if (heardFrames !== 10) return;
        for (let n = 0; n < 15; n += 1) leg.send('item', FRAME);
        leg.mark('said');
      });
      leg.on('played', (mark) => {
        played.push(mark);
        void leg.hangup();
      });
    };

    const call = await placeOutsideCall({ url: rig.url, authToken: AUTH_TOKEN, digits: '1#', frames: 500 });

    expect(call).toMatchObject({ webhookStatus: 200, upgradeStatus: 101, closeCode: 1000, marks: 1 });
    expect(Buffer.from(call.heard ?? '', 'base64').equals(Buffer.concat(Array(15).fill(FRAME)))).toBe(true);
    expect(played).toEqual(['said']);
    expect(digits).toEqual(['1', '#']);
    expect(heardFrames).toBeGreaterThan(20);
  });

  it('is interrupted with clear, and what was cleared never counts as heard', async () => {
    const rig = await startRig();
    const played: string[] = [];
    rig.desk.onAttach = (leg) => {
      for (let n = 0; n < 500; n += 1) leg.send('item', FRAME);
      leg.mark('never heard');
      leg.on('played', (mark) => played.push(mark));
      let frames = 0;
      leg.on('audio', () => {
        frames += 1;
        if (frames === 10) leg.clear();
        if (frames === 20) void leg.hangup();
      });
    };

    const call = await placeOutsideCall({ url: rig.url, authToken: AUTH_TOKEN, frames: 500 });

    expect(call).toMatchObject({ closeCode: 1000, marks: 1, clears: 1 });
    expect(call.heardBytes).toBeLessThan(100 * 160);
    expect(played).toEqual([]);
  });

  it('gets nothing with a wrong token, and nothing without one', async () => {
    const rig = await startRig();
    const call = { url: rig.url, authToken: AUTH_TOKEN };
    const [wrong, none] = await Promise.all([
      placeOutsideCall({ ...call, callSid: 'CAwrong', token: 'wrong' }),
      placeOutsideCall({ ...call, callSid: 'CAnone', token: 'none' }),
    ]);
    expect(wrong).toMatchObject({ upgradeStatus: 401, heardBytes: 0 });
    expect(none).toMatchObject({ upgradeStatus: 101, closeCode: 1008, heardBytes: 0 });
    expect(rig.desk.attached).toEqual([]);
  });

  it("gets no TwiML without the account's signature", async () => {
    const rig = await startRig();
    const call = await placeOutsideCall({ url: rig.url, authToken: 'guessed' });
    expect(call.webhookStatus).toBe(403);
    expect(call.twiml).not.toContain('Response');
    expect(rig.desk.admitted).toEqual([]);
  });
});
