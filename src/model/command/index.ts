export { MAX_HELD_AUDIO_MS, MAX_OPEN_CALLS, MAX_WAITING_TURNS } from './command-model.ts';
export { type CommandModelFactoryOptions, createCommandModelFactory } from './factory.ts';
export { MAX_PHRASES } from './phrase-file.ts';
export type { SlotValues } from './slots.ts';
