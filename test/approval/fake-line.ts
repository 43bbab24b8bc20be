/**
 * A call as the conductor of approvals sees it: what is said takes its time, what the caller says is real audio, and a
 * recogniser that hears whatever the test says it heard.
 */
import { readFileSync } from 'node:fs';
import type { ApprovalFloor, FloorLine } from '../../src/approval/index.ts';
import { encodeG711 } from '../../src/audio/g711.ts';
import { type AudioData, PCMU_8K, readWav, silence } from '../../src/audio/index.ts';
import type { VirtualClock } from '../../src/clock-virtual.ts';
import type { Recogniser } from '../../src/speech/index.ts';

const FRAME = 160;
const wav = readWav(
  readFileSync(new URL('../../fixtures/synthesised/what-time-is-it-8k-mulaw.wav', import.meta.url)),
);
/** Somebody says something; what, the stub recogniser decides. */
export const SPEECH = encodeG711(wav.channels[0]!, 'pcmu');

export class StubRecogniser implements Recogniser {
  /** What the next utterances are heard as. */
  readonly heard: (string | null)[] = [];
  calls = 0;
  async recognise() {
    this.calls++;
    return { text: this.heard.shift() ?? null, score: 0 };
  }
  async close() {}
}

export interface FakeFloorOptions {
  readonly clock: VirtualClock;
  readonly callId?: string;
  readonly sessionKey?: string;
  readonly caller?: ApprovalFloor['caller'];
  readonly keys?: boolean;
  readonly screen?: boolean;
}

export class FakeFloor implements ApprovalFloor {
  readonly format = PCMU_8K;
  readonly callId: string;
  readonly sessionKey: string;
  readonly caller: ApprovalFloor['caller'];
  readonly keys: boolean;
  readonly screen: boolean;
  readonly said: string[] = [];
  readonly told: string[] = [];
  /** Audio that reached the model. */
  readonly toModel: AudioData[] = [];
  readonly released: AudioData[] = [];
  quiet = true;
  taken = false;
  /** Nothing that is said is ever heard. */
  deaf = false;
  line: FloorLine | null = null;
  readonly #clock: VirtualClock;
  #speakingUntil = Number.NEGATIVE_INFINITY;
  #stop: (() => void) | null = null;
  #ticking = true;

  constructor(options: FakeFloorOptions) {
    this.#clock = options.clock;
    this.callId = options.callId ?? 'call-1';
    this.sessionKey = options.sessionKey ?? 'realtime:anna';
    this.caller = options.caller ?? { strength: 'authenticated', id: 'anna' };
    this.keys = options.keys ?? true;
    this.screen = options.screen ?? false;
  }

  attach(line: FloorLine): this {
    this.line = line;
    const tick = () => {
      if (!this.#ticking) return;
      line.tick(this.#clock.now());
      this.#clock.setTimeout(tick, 20);
    };
    this.#clock.setTimeout(tick, 20);
    return this;
  }

  isQuiet() {
    return this.quiet && this.#clock.now() >= this.#speakingUntil;
  }
  take() {
    this.taken = true;
  }
  release(kept: readonly AudioData[]) {
    this.taken = false;
    this.released.push(...kept);
  }
  /** Takes 3 s, whatever is said. */
  say(text: string): Promise<boolean> {
    this.said.push(text);
    if (this.deaf) return Promise.resolve(false);
    this.#speakingUntil = this.#clock.now() + 3000;
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => {
        this.#stop = null;
        resolve(true);
      }, 3000);
      this.#stop = () => {
        timer.clear();
        this.#speakingUntil = this.#clock.now();
        this.#stop = null;
        resolve(false);
      };
    });
  }
  hush() {
    this.#stop?.();
  }
  lastAudibleAt() {
    return Math.min(this.#clock.now(), this.#speakingUntil);
  }
  tell(text: string) {
    this.told.push(text);
  }

  /** The code that the last prompt named. */
  get code(): string {
    const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
    const prompt = [...this.said].reverse().find((text) => /code is|press \w+ \w+ /.test(text)) ?? '';
    const match = /(?:code is|press) (\w+) (\w+)/.exec(prompt);
    return [match?.[1], match?.[2]].map((word) => String(words.indexOf(word ?? ''))).join('');
  }

  press(digits: string): boolean[] {
    return [...digits].map((digit) => this.line!.digit(digit));
  }

  /** Real-time audio of the caller's, frame by frame. */
  async audio(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += FRAME) {
      const frame = bytes.subarray(at, at + FRAME);
      if (!this.line!.audio(frame)) this.toModel.push(frame);
      await this.#clock.advance(20);
    }
  }
  async speak(): Promise<void> {
    await this.audio(SPEECH);
    await this.quietFor(800);
  }
  quietFor(ms: number): Promise<void> {
    return this.audio(silence(ms * 8, PCMU_8K));
  }

  hangUp(lost = false): void {
    this.#ticking = false;
    this.line!.hungUp(lost);
  }
}
