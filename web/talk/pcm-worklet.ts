/**
 * The sound of the fallback, on the audio thread: the microphone becomes frames, frames become sound.
 *
 * @module
 */

import { FrameCutter, PlayoutBuffer, Resampler, SOCKET_FRAME_SAMPLES, SOCKET_RATE } from './pcm.ts';

/** Three frames wait before it begins. */
const START_SAMPLES = Math.round(sampleRate * 0.06);
/** What has piled up so far above that is caught up with in the pauses. */
const HIGH_SAMPLES = Math.round(sampleRate * 0.14);
const SIZE_SAMPLES = sampleRate * 5;

class Capture extends AudioWorkletProcessor {
  readonly #resampler = new Resampler(sampleRate, SOCKET_RATE);
  readonly #cutter = new FrameCutter(SOCKET_FRAME_SAMPLES);
  readonly #take = (frame: Int16Array) => this.port.postMessage(frame, [frame.buffer]);

  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const [first] = inputs;
    // A node without an input still has time: silence is what is heard.
    const samples = first?.[0] ?? new Float32Array(outputs[0]?.[0]?.length ?? 128);
    this.#cutter.push(this.#resampler.push(samples), this.#take);
    return true;
  }
}

class Playout extends AudioWorkletProcessor {
  readonly #resampler = new Resampler(SOCKET_RATE, sampleRate);
  readonly #buffer = new PlayoutBuffer(SIZE_SAMPLES, START_SAMPLES, HIGH_SAMPLES);

  constructor() {
    super();
    this.port.onmessage = ({ data }: MessageEvent<Int16Array>) => {
      const samples = Float32Array.from(data, (sample) => sample / 32768);
      this.#buffer.write(this.#resampler.push(samples));
    };
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const [output] = outputs;
    const [first] = output ?? [];
    if (first) this.#buffer.read(first);
    for (const other of output?.slice(1) ?? []) if (first) other.set(first);
    return true;
  }
}

registerProcessor('capture', Capture);
registerProcessor('playout', Playout);
