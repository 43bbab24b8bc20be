export { type Clip, type Cue, readClip } from './clips.ts';
export { RECORDED_CALLER_CAPABILITIES, RecordedCaller } from './recorded-caller.ts';
