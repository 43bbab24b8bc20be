/** The part of SpeexDSP's resampler that we call, as `@echogarden/speex-resampler-wasm` exports it. */
declare module '@echogarden/speex-resampler-wasm/simd' {
  export interface SpeexModule {
    /** Replaced whenever the memory grows: read it again after every call that may allocate. */
    HEAP16: Int16Array;
    HEAPU32: Uint32Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _speex_resampler_init(
      channels: number,
      inRate: number,
      outRate: number,
      quality: number,
      errorPointer: number,
    ): number;
    _speex_resampler_destroy(state: number): void;
    _speex_resampler_skip_zeros(state: number): number;
    _speex_resampler_get_input_latency(state: number): number;
    _speex_resampler_process_int(
      state: number,
      channel: number,
      input: number,
      inputLengthPointer: number,
      output: number,
      outputLengthPointer: number,
    ): number;
  }
  export default function create(): Promise<SpeexModule>;
}
