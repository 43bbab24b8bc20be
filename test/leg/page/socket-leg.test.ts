import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/clock-virtual.ts';
import type { LegCloseReason, TextSocketSink } from '../../../src/leg/index.ts';
import {
  MAX_SOCKET_AHEAD_MS,
  MAX_SOCKET_AUDIO_BYTES,
  MAX_SOCKET_FILL_MS,
  PageLink,
  type PageSocket,
  PageSocketLeg,
  SOCKET_HIGH_WATER_BYTES,
} from '../../../src/leg/page/index.ts';
import { WEBRTC_CAPABILITIES } from '../../../src/leg/webrtc/index.ts';

const FRAME = new Uint8Array(960).fill(1);

class MemorySocket implements PageSocket {
  bufferedAmount = 0;
  sink: TextSocketSink | null = null;
  readonly texts: string[] = [];
  frames = 0;
  closedWith: number | null = null;
  listen(sink: TextSocketSink | null): void {
    this.sink = sink;
  }
  send(text: string): void {
    this.texts.push(text);
  }
  sendBytes(): void {
    this.frames += 1;
  }
  close(code = 1005): void {
    this.closedWith ??= code;
  }
}

function rig() {
  const clock = new VirtualClock();
  const socket = new MemorySocket();
  const link = new PageLink('owner', () => clock.now());
  const leg = new PageSocketLeg({ socket, link, clock });
  const closed: LegCloseReason[] = [];
  const audio: number[] = [];
  const played: string[] = [];
  leg.on('closed', (reason) => closed.push(reason));
  leg.on('audio', (bytes) => audio.push((bytes as Uint8Array)[0] ?? 0));
  leg.on('played', (mark) => played.push(mark));
  const say = (command: object) => socket.sink?.message(JSON.stringify(command));
  return { clock, socket, link, leg, closed, audio, played, say };
}

describe('a call over a WebSocket', () => {
  it('is of the same kind as one over WebRTC, so that a page may change over', () => {
    expect(rig().leg.capabilities).toEqual(WEBRTC_CAPABILITIES);
  });

  it('hands binary frames on as they are', () => {
    const { socket, audio } = rig();
    socket.sink?.message(FRAME);
    expect(audio).toEqual([1]);
  });

  it('hands on samples that can be read, wherever in its buffer a message lies', () => {
    const { socket, leg } = rig();
    const offsets: number[] = [];
    leg.on('audio', (bytes) => offsets.push((bytes as Uint8Array).byteOffset % 2));
    const pool = new Uint8Array(2000).fill(7);

    socket.sink?.message(pool.subarray(3, 963));
    socket.sink?.message(pool.subarray(4, 964));

    expect(offsets).toEqual([0, 0]);
  });

  it('plays what it is sent every 20 ms, and says when it was heard', async () => {
    const { clock, socket, leg, played } = rig();
    for (let n = 0; n < 10; n += 1) leg.send('item', FRAME);
    leg.mark('m1');
    await clock.advance(100);
    expect(socket.frames).toBeGreaterThanOrEqual(4);
    expect(socket.frames).toBeLessThanOrEqual(6);
    await clock.advance(300);
    expect(socket.frames).toBe(10);
    expect(played).toEqual(['m1']);
  });

  it('drops what waits when it is cleared', async () => {
    const { clock, socket, leg, played } = rig();
    for (let n = 0; n < 20; n += 1) leg.send('item', FRAME);
    leg.mark('m1');
    await clock.advance(60);
    const before = socket.frames;
    leg.clear();
    await clock.advance(500);
    expect(socket.frames).toBe(before);
    expect(played).toEqual([]);
  });

  it('plays nothing into a network that takes nothing, and gives up when too much waits', async () => {
    const { clock, socket, leg, closed } = rig();
    socket.bufferedAmount = SOCKET_HIGH_WATER_BYTES + 1;
    for (let n = 0; n < 50; n += 1) leg.send('item', FRAME);
    await clock.advance(1000);
    expect(socket.frames).toBe(0);
    for (let n = 0; n < 60; n += 1) leg.send('item', FRAME);
    expect(closed).toEqual(['connection_lost']);
  });

  it('puts silence where the page sends none, up to a bound', async () => {
    const { clock, socket, audio } = rig();
    socket.sink?.message(FRAME);
    await clock.advance(1000);
    expect(audio.filter((each) => each === 0).length).toBeGreaterThan(45);
    await clock.advance(20_000);
    expect(audio.length).toBeLessThanOrEqual(MAX_SOCKET_FILL_MS / 20 + 2);
  });

  it('turns what the page says into events of a leg', () => {
    const { leg, socket, say, closed } = rig();
    const heard: string[] = [];
    leg.on('text', (text) => heard.push(text));
    leg.on('dtmf', (digit) => heard.push(digit));
    say({ type: 'hello', v: 1 });
    say({ type: 'text', text: 'hello there' });
    say({ type: 'dtmf', digit: '5' });
    say({ type: 'hangup' });
    expect(JSON.parse(socket.texts.at(-1)!)).toEqual({ type: 'ended', reason: 'caller_hangup' });
    expect(heard).toEqual(['hello there', '5']);
    expect(closed).toEqual(['caller_hangup']);
  });

  it.each([
    [1000, 'caller_hangup'],
    [1001, 'connection_lost'],
    [1006, 'connection_lost'],
  ] as const)('closed by the page with %i is %s', (code, reason) => {
    const { socket, closed } = rig();
    socket.sink?.closed(code);
    expect(closed).toEqual([reason]);
  });

  it.each([
    ['half a sample', new Uint8Array(961)],
    ['nothing', new Uint8Array(0)],
    ['more than 200 ms', new Uint8Array(MAX_SOCKET_AUDIO_BYTES + 2)],
  ])('is closed by %s', (_name, bytes) => {
    const { socket, closed } = rig();
    socket.sink?.message(bytes);
    expect(closed).toEqual(['protocol_error']);
    expect(socket.closedWith).toBe(1002);
  });

  it('is closed by more audio than time allows', () => {
    const { socket, closed } = rig();
    for (let ms = 0; ms <= MAX_SOCKET_AHEAD_MS && closed.length === 0; ms += 200) {
      socket.sink?.message(new Uint8Array(MAX_SOCKET_AUDIO_BYTES));
    }
    expect(closed).toEqual(['protocol_error']);
  });

  it('without audio for its limit is closed', async () => {
    const { clock, closed } = rig();
    await clock.advance(31_000);
    expect(closed).toEqual(['no_media']);
  });

  it('is silent once closed, and closes once', async () => {
    const { clock, socket, leg, closed } = rig();
    await leg.hangup();
    await leg.hangup();
    leg.send('item', FRAME);
    leg.mark('m1');
    leg.show({ type: 'state', state: 'listening' });
    await clock.advance(1000);
    expect(closed).toEqual(['local_hangup']);
    expect(socket.frames).toBe(0);
    expect(leg.listenerCount()).toBe(0);
  });
});
