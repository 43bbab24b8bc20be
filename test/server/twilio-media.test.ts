import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { VoiceError } from '../../src/errors.ts';
import { START_TIMEOUT_MS } from '../../src/leg/twilio/index.ts';
import {
  MAX_SOCKET_MESSAGE_BYTES,
  MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS,
  STREAM_TOKEN_TTL_MS,
} from '../../src/server/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import {
  CALL_SID,
  CALLER,
  CONNECTED,
  callFields,
  closeCode,
  closeRigs,
  openSocket,
  postSigned,
  refusedStatus,
  ring,
  STREAM_SID,
  startMessage,
  startRig,
  until,
} from './rig.ts';

afterEach(closeRigs);

const PAYLOAD = Buffer.alloc(160, 0x7f).toString('base64');
const media = (timestamp = 0) =>
  JSON.stringify({
    event: 'media',
    sequenceNumber: '2',
    streamSid: STREAM_SID,
    media: { track: 'inbound', chunk: '1', timestamp: String(timestamp), payload: PAYLOAD },
  });

describe('the media socket', () => {
  describe('becomes the leg of its call', () => {
    it('with the token in the path', async () => {
      const rig = await startRig();
      const { url, token } = await ring(rig);
      const heard: unknown[] = [];
      rig.desk.onAttach = (leg) => leg.on('audio', (audio) => heard.push(audio));

      const ws = await openSocket(url);
      ws.send(CONNECTED);
      ws.send(startMessage({ token }));
      ws.send(media());

      await until('the audio is heard', () => heard.length > 0);
      expect(rig.desk.attached[0]?.callId).toBe(`call-${CALL_SID}`);
      expect(heard).toEqual([PAYLOAD]);
      rig.desk.attached[0]?.leg.send('item', PAYLOAD);
      const [text] = (await once(ws, 'message')) as [Buffer];
      expect(JSON.parse(text.toString())).toEqual({
        event: 'media',
        streamSid: STREAM_SID,
        media: { payload: PAYLOAD },
      });
    });

    it('with the token in the path alone', async () => {
      const rig = await startRig();
      const { url } = await ring(rig);
      const ws = await openSocket(`${url}?token=dropped`);
      ws.send(CONNECTED);
      ws.send(startMessage());
      await until('the leg is attached', () => rig.desk.attached.length === 1);
    });

    it('with the token in start alone, when something on the way cut the path', async () => {
      const rig = await startRig();
      const { token } = await ring(rig);
      const ws = await openSocket(`${rig.wsUrl}/twilio/media`);
      ws.send(CONNECTED);
      ws.send(startMessage({ token }));
      await until('the leg is attached', () => rig.desk.attached.length === 1);
      expect(await refusedStatus(`${rig.wsUrl}/twilio/media/${token}`)).toBe(401);
    });
  });

  describe('gets nothing without the right token', () => {
    it('in the path: refused before the upgrade', async () => {
      const rig = await startRig();
      await ring(rig);
      expect(await refusedStatus(`${rig.wsUrl}/twilio/media/${'A'.repeat(43)}`)).toBe(401);
      expect(rig.desk.attached).toEqual([]);
    });

    it.each([
      ['none at all', {}],
      ['a wrong one', { token: 'A'.repeat(43) }],
      ['an empty one', { token: '' }],
    ])('in start, %s: closed with 1008', async (_, parameters: Record<string, string>) => {
      const rig = await startRig();
      await ring(rig);
      const ws = await openSocket(`${rig.wsUrl}/twilio/media`);
      ws.send(CONNECTED);
      ws.send(startMessage(parameters));
      ws.send(media());
      expect(await closeCode(ws)).toBe(1008);
      expect(rig.desk.attached).toEqual([]);
    });

    it('a second time', async () => {
      const rig = await startRig();
      const { url, token } = await ring(rig);
      const first = await openSocket(url);
      expect(await refusedStatus(url)).toBe(401);
      const second = await openSocket(`${rig.wsUrl}/twilio/media`);
      second.send(startMessage({ token }));
      expect(await closeCode(second)).toBe(1008);
      first.send(startMessage({ token }));
      await until('the first is attached', () => rig.desk.attached.length === 1);
    });

    it('too late', async () => {
      const clock = new FakeClock();
      const rig = await startRig({ clock });
      const { url } = await ring(rig);
      await clock.advance(STREAM_TOKEN_TTL_MS);
      expect(await refusedStatus(url)).toBe(401);
    });

    it("with one call's token and another call's id", async () => {
      const rig = await startRig();
      const { url, token } = await ring(rig);
      const ws = await openSocket(url);
      ws.send(startMessage({ token }, 'CA00000000000000000000000000000002'));
      expect(await closeCode(ws)).toBe(1008);
      expect(rig.desk.attached).toEqual([]);
    });

    it('with the right token in the path and another in start', async () => {
      const rig = await startRig();
      const { url } = await ring(rig);
      const ws = await openSocket(url);
      ws.send(startMessage({ token: 'another' }));
      expect(await closeCode(ws)).toBe(1008);
    });
  });

  it('is closed when start does not come within five seconds', async () => {
    const clock = new FakeClock();
    const rig = await startRig({ clock });
    const { url } = await ring(rig);
    const ws = await openSocket(url);
    await until('the deadline runs', () => clock.pendingTimers === 1);
    await clock.advance(START_TIMEOUT_MS);
    expect(await closeCode(ws)).toBe(1008);
    expect(rig.desk.attached).toEqual([]);
  });

  it('that closes before its first message frees its place and leaves no trace but a line in the log', async () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    const clock = new FakeClock();
    const rig = await startRig({ clock, logger: pino({ base: null }, sink) });
    for (let n = 0; n < MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS * 2; n += 1) {
      const ws = await openSocket(`${rig.wsUrl}/twilio/media`);
      ws.terminate();
      await until('it is gone', () => lines.length > n);
    }
    expect(clock.pendingTimers).toBe(0);
    expect(lines.every((line) => JSON.parse(line).reason === 'closed' && !line.includes('stack'))).toBe(true);
  });

  it('of strangers is capped per address, and a place freed is a place', async () => {
    const rig = await startRig();
    const sockets = await Promise.all(
      Array.from({ length: MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS }, () =>
        openSocket(`${rig.wsUrl}/twilio/media`),
      ),
    );
    expect(await refusedStatus(`${rig.wsUrl}/twilio/media`)).toBe(429);
    // A call with its token is no stranger.
    const { url, token } = await ring(rig);
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    await until('the call goes through all the same', () => rig.desk.attached.length === 1);

    sockets[0]?.close();
    await closeCode(sockets[0]!);
    const next = await openSocket(`${rig.wsUrl}/twilio/media`);
    expect(next.readyState).toBe(next.OPEN);
  });

  it('is closed on a message that is too long, before and after the token', async () => {
    const rig = await startRig();
    const stranger = await openSocket(`${rig.wsUrl}/twilio/media`);
    stranger.send('x'.repeat(MAX_SOCKET_MESSAGE_BYTES + 1));
    expect(await closeCode(stranger)).toBe(1009);

    const { url, token } = await ring(rig);
    const ws = await openSocket(url);
    const reasons: string[] = [];
    rig.desk.onAttach = (leg) => leg.on('closed', (reason) => reasons.push(reason));
    ws.send(startMessage({ token }));
    ws.send('x'.repeat(MAX_SOCKET_MESSAGE_BYTES + 1));
    expect(await closeCode(ws)).toBe(1009);
    expect(reasons).toEqual(['connection_lost']);
  });

  it('closes the leg as a protocol error on a binary frame', async () => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    const reasons: string[] = [];
    rig.desk.onAttach = (leg) => leg.on('closed', (reason) => reasons.push(reason));
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    ws.send(Buffer.from([1, 2, 3]));
    expect(await closeCode(ws)).toBe(1002);
    expect(reasons).toEqual(['protocol_error']);
  });

  it('is closed when no call waits for it any more', async () => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    rig.desk.attachError = new VoiceError('CALL_NOT_FOUND', 'gone');
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    expect(await closeCode(ws)).toBe(1000);
  });

  it('ends its leg when the status callback says that the call is over', async () => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    const reasons: string[] = [];
    rig.desk.onAttach = (leg) => leg.on('closed', (reason) => reasons.push(reason));
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    await until('the leg is attached', () => rig.desk.attached.length === 1);
    await postSigned(`${rig.url}/twilio/status`, callFields({ CallStatus: 'completed' }));
    expect(await closeCode(ws)).toBe(1000);
    expect(reasons).toEqual(['caller_hangup']);
  });

  it('closes the leg when the carrier sends nothing for the time in the config', async () => {
    const clock = new FakeClock();
    const rig = await startRig({ clock, config: { limits: { noMediaTimeoutS: 5 } } });
    const { url, token } = await ring(rig);
    const reasons: string[] = [];
    rig.desk.onAttach = (leg) => leg.on('closed', (reason) => reasons.push(reason));
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    await until('the leg is attached', () => rig.desk.attached.length === 1);
    await clock.advance(5000);
    expect(reasons).toEqual(['no_media']);
  });

  it('gives a call up when the carrier stops reading, with bounded memory', async () => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    const reasons: string[] = [];
    rig.desk.onAttach = (leg) => leg.on('closed', (reason) => reasons.push(reason));
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    await until('the leg is attached', () => rig.desk.attached.length === 1);
    ws.pause();
    const second = Buffer.alloc(8000, 0x2a).toString('base64');
    let sentBytes = 0;
    await until('the leg gives up', () => {
      rig.desk.attached[0]?.leg.send('item', second);
      sentBytes += second.length;
      return reasons.length > 0;
    });
    expect(reasons).toEqual(['backpressure']);
    // What the kernel's own buffers take, and one mebibyte of ours.
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
    ws.resume();
    expect(await closeCode(ws)).toBe(1013);
  });

  it('exists at its own address only', async () => {
    const rig = await startRig();
    for (const path of ['/', '/twilio', '/twilio/media/a/b', '/twilio/mediax', '/healthz']) {
      expect(await refusedStatus(rig.wsUrl + path)).toBe(404);
    }
  });

  it('survives an upgrade that is cut off or broken', async () => {
    const rig = await startRig();
    const port = Number(new URL(rig.url).port);
    for (const request of [
      'GET /twilio/media HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
      'GET /twilio/media HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n',
      'GET /nowhere HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    ]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(request);
      await once(socket, 'data');
      socket.resetAndDestroy();
    }
    expect((await fetch(`${rig.url}/healthz`)).status).toBe(200);
    // None of them keeps a stranger's place.
    const sockets = await Promise.all(
      Array.from({ length: MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS }, () =>
        openSocket(`${rig.wsUrl}/twilio/media`),
      ),
    );
    expect(sockets).toHaveLength(MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS);
  });

  it('leaves no token, number or digit in the log', async () => {
    let log = '';
    const sink = new Writable({
      write(chunk, _encoding, done) {
        log += chunk;
        done();
      },
    });
    const rig = await startRig({ logger: pino({ level: 'debug' }, sink) });
    const { url, token } = await ring(rig);
    const ws = await openSocket(url);
    ws.send(startMessage({ token }));
    ws.send(JSON.stringify({ event: 'dtmf', streamSid: STREAM_SID, dtmf: { digit: '7' } }));
    await refusedStatus(url);
    await postSigned(`${rig.url}/twilio/status`, {
      ...callFields(),
      StreamEvent: 'stream-error',
      StreamError: `31921 ${url}`,
    });
    await until('the leg is attached', () => rig.desk.attached.length === 1);
    ws.close();
    await closeCode(ws);
    await until('its end is in the log', () => log.includes('media socket closed'));
    expect(log).toContain('31921');
    for (const secret of [token, CALLER, CALLER.slice(1), '"7"', '12345']) expect(log).not.toContain(secret);
  });
});
