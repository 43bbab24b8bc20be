/**
 * One call of the page's: the state machine decides, this does it, and the screen follows its signals.
 *
 * @module
 */

import { batch, computed, signal } from '@preact/signals';
import { MAX_SHOWN_IDS, PAGE_PROTOCOL_VERSION, type PageEvent } from '../../src/leg/page/protocol.ts';
import { type Line, type LineEffect, type LineEvent, step, type Way } from './connection.ts';
import { EMPTY_CONVERSATION, noted, over, shownIds, told, typed } from './conversation.ts';
import { Meters } from './meters.ts';
import { type Devices, echoCancellationOf, listDevices, openMicrophone } from './microphone.ts';
import { microphoneProblem } from './problems.ts';
import {
  between,
  type LineCounters,
  type LineNumbers,
  NO_NUMBERS,
  type QualityWord,
  qualityWord,
  SteadyWord,
} from './quality.ts';
import { RtcTransport } from './rtc-transport.ts';
import { type PageSession, readSession } from './session.ts';
import { readSettings, type Settings, writeSettings } from './settings.ts';
import { SocketTransport } from './socket-transport.ts';
import type { TransportEvents } from './transport.ts';

const LOOK_MS = 1000;
/** Nothing came for so long: the line is in doubt. ICE sees a path that is gone earlier; this is for all the rest. */
const SILENT_MS = 5000;

export class Call {
  readonly line = signal<Line>({ at: 'idle' });
  readonly conversation = signal(EMPTY_CONVERSATION);
  readonly numbers = signal<LineNumbers>(NO_NUMBERS);
  readonly quality = signal<QualityWord | null>(null);
  readonly muted = signal(false);
  readonly echoCancellation = signal<boolean | null>(null);
  readonly devices = signal<Devices>({ microphones: [], speakers: [] });
  readonly settings = signal<Settings>(readSettings());
  readonly startedAt = signal<number | null>(null);
  /** The way of the present connection. */
  readonly way = computed<Way | null>(() => ('way' in this.line.value ? this.line.value.way : null));
  readonly isOpen = computed(() => !['idle', 'over', 'failed'].includes(this.line.value.at));
  readonly meters = new Meters();
  readonly player = new Audio();

  #session: PageSession;
  #microphone: MediaStream | null = null;
  #transport: RtcTransport | SocketTransport | null = null;
  #counters: LineCounters | null = null;
  #word = new SteadyWord();
  #pingAt = 0;
  #timer: number | null = null;
  #looking: number | null = null;
  #heardAt = 0;
  #pings = 0;

  constructor(session: PageSession) {
    this.#session = session;
    this.player.autoplay = true;
    addEventListener('online', () => this.#happened({ type: 'network_changed' }));
    navigator.mediaDevices?.addEventListener('devicechange', () => void this.#listDevices());
  }

  /** @param callId - joins a call that still lasts; `null` makes a new one */
  async start(callId: string | null = null): Promise<void> {
    if (this.isOpen.value) return;
    this.meters.resume();
    batch(() => {
      if (callId === null) this.conversation.value = EMPTY_CONVERSATION;
      this.numbers.value = NO_NUMBERS;
      this.muted.value = false;
      this.startedAt.value = null;
    });
    this.#happened({ type: 'call', callId });
  }

  hangup(): void {
    this.#happened({ type: 'hangup' });
  }

  mute(muted: boolean): void {
    this.muted.value = muted;
    for (const track of this.#microphone?.getAudioTracks() ?? []) track.enabled = !muted;
    this.#transport?.send({ type: 'mute', muted });
  }

  type(text: string): void {
    const line = text.trim();
    if (line === '') return;
    this.#transport?.send({ type: 'text', text: line });
    this.conversation.value = typed(this.conversation.value, line, Date.now());
  }

  press(digit: string): void {
    this.#transport?.send({ type: 'dtmf', digit });
  }

  decide(id: string, approve: boolean): void {
    this.#transport?.send({ type: 'approval.decide', id, approve });
  }

  /** It is on the screen. */
  receipt(id: string): void {
    this.#transport?.send({ type: 'media.receipt', id });
  }

  async choose(change: Partial<Settings>): Promise<void> {
    const settings = { ...this.settings.value, ...change };
    this.settings.value = settings;
    writeSettings(settings);
    if (change.speaker !== undefined) await this.#setSpeaker();
    if ((change.microphone !== undefined || change.echoCancellation !== undefined) && this.#microphone)
      await this.#openMicrophone().catch(() => {});
  }

  // ---- the machine

  #happened(event: LineEvent): void {
    const { line, effects } = step(this.line.value, event, this.#session, performance.now());
    this.line.value = line;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: LineEffect): void {
    switch (effect.do) {
      case 'microphone':
        void this.#openMicrophone().then(
          () => this.#happened({ type: 'microphone' }),
          (error) => this.#happened({ type: 'refused', problem: microphoneProblem(error) }),
        );
        return;
      case 'connect':
        void this.#connect(effect.way, effect.callId);
        return;
      case 'drop':
        this.#transport?.close();
        this.#transport = null;
        return;
      case 'ping':
        this.#ping();
        return;
      case 'timer':
        if (this.#timer !== null) clearTimeout(this.#timer);
        this.#timer =
          effect.afterMs === null ? null : setTimeout(() => this.#happened({ type: 'due' }), effect.afterMs);
        return;
      case 'hangup':
        this.#transport?.hangup();
        this.#transport = null;
        return;
      case 'release':
        this.#release();
        return;
      default:
        effect satisfies never;
    }
  }

  async #connect(way: Way, callId: string | null): Promise<void> {
    const microphone = this.#microphone;
    if (!microphone) return;
    // TURN credentials are short-lived: each connection has its own.
    const isFirst = this.startedAt.value === null;
    if (!isFirst && way === 'webrtc') this.#session = await readSession().catch(() => this.#session);
    const { line } = this;
    if (line.value.at !== 'connecting' || line.value.way !== way) return;
    this.#counters = null;
    this.#word = new SteadyWord();
    const events = this.#eventsOf(() => transport === this.#transport);
    const transport =
      way === 'webrtc'
        ? new RtcTransport(this.#session, microphone, callId, events)
        : new SocketTransport(this.meters.audio, microphone, callId, events);
    this.#transport = transport;
    transport.onOpen(() => {
      const shown = shownIds(this.conversation.value).slice(-MAX_SHOWN_IDS);
      transport.send({ type: 'hello', v: PAGE_PROTOCOL_VERSION, shown });
    });
    await transport.open();
  }

  /** Events of a connection that was replaced do nothing. */
  #eventsOf(isPresent: () => boolean): TransportEvents {
    const present =
      <A extends unknown[]>(act: (...args: A) => void) =>
      (...args: A) => {
        if (isPresent()) act(...args);
      };
    return {
      answered: present((callId) => this.#happened({ type: 'answered', callId })),
      refused: present((problem) => this.#happened({ type: 'refused', problem })),
      wobbled: present(() => this.#happened({ type: 'wobbled' })),
      steadied: present(() => this.#happened({ type: 'steadied' })),
      lost: present(() => this.#happened({ type: 'lost' })),
      remote: present((stream) => {
        this.player.srcObject = stream;
        void this.player.play().catch(() => {});
        void this.#setSpeaker();
        this.meters.listenTo('agent', stream);
      }),
      told: present((event) => this.#told(event)),
    };
  }

  #told(event: PageEvent): void {
    this.#heardAt = performance.now();
    switch (event.type) {
      case 'welcome':
        this.startedAt.value ??= Date.now();
        this.#happened({ type: 'connected' });
        if (this.muted.value) this.#transport?.send({ type: 'mute', muted: true });
        this.#look();
        break;
      case 'pong':
        // Where the browser does not measure it.
        if (this.way.value === 'socket')
          this.numbers.value = { ...this.numbers.value, roundTripMs: performance.now() - this.#pingAt };
        this.#happened({ type: 'steadied' });
        return;
      case 'quality':
        this.numbers.value = {
          ...this.numbers.value,
          lossOutPercent: Math.max(event.lossPercent, event.concealedPercent),
          roundTripMs: event.roundTripMs ?? this.numbers.value.roundTripMs,
        };
        return;
      case 'ended':
        this.#happened({ type: 'ended', reason: event.reason });
        break;
      default:
    }
    this.conversation.value = told(this.conversation.value, event, Date.now());
  }

  // ---- the line's pulse

  #ping(): void {
    this.#pingAt = performance.now();
    this.#transport?.send({ type: 'ping', n: ++this.#pings });
  }

  #look(): void {
    this.#looking ??= setInterval(() => {
      if (this.line.value.at === 'live' && performance.now() - this.#heardAt > SILENT_MS)
        this.#happened({ type: 'wobbled' });
      this.#ping();
      void this.#count();
    }, LOOK_MS);
  }

  async #count(): Promise<void> {
    const counters = await this.#transport?.counters();
    if (counters) {
      this.numbers.value = { ...this.numbers.value, ...between(this.#counters, counters) };
      this.#counters = counters;
    }
    this.quality.value = this.#word.look(qualityWord(this.numbers.value));
  }

  // ---- devices

  async #openMicrophone(): Promise<void> {
    const { microphone, echoCancellation } = this.settings.value;
    let stream: MediaStream;
    try {
      stream = await openMicrophone(microphone, echoCancellation);
    } catch (error) {
      // The one that was chosen last time may be unplugged.
      if (microphone === '' || microphoneProblem(error) === 'MICROPHONE_REFUSED') throw error;
      stream = await openMicrophone('', echoCancellation);
    }
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#microphone = stream;
    for (const track of stream.getAudioTracks()) {
      track.enabled = !this.muted.value;
      track.addEventListener('ended', () => {
        if (this.#microphone === stream && this.isOpen.value)
          this.#openMicrophone().catch(() => {
            this.conversation.value = noted(this.conversation.value, 'The microphone is gone.', Date.now());
          });
      });
    }
    this.#transport?.setMicrophone(stream);
    this.meters.listenTo('caller', stream);
    this.echoCancellation.value = echoCancellationOf(stream);
    await this.#listDevices();
  }

  async #listDevices(): Promise<void> {
    this.devices.value = await listDevices();
  }

  async #setSpeaker(): Promise<void> {
    const { speaker } = this.settings.value;
    if ('setSinkId' in this.player) await this.player.setSinkId(speaker).catch(() => {});
  }

  #release(): void {
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#microphone = null;
    if (this.#looking !== null) clearInterval(this.#looking);
    this.#looking = null;
    this.player.srcObject = null;
    this.conversation.value = over(this.conversation.value, Date.now());
    this.meters.stop();
  }
}
