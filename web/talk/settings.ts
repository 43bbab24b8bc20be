/**
 * What a person chose on this device; kept by the browser.
 *
 * @module
 */

import { z } from 'zod';

const settingsSchema = z.object({
  microphone: z.string().max(500).default(''),
  speaker: z.string().max(500).default(''),
  echoCancellation: z.boolean().default(true),
  /** A screen reader reads the agent's captions. */
  readCaptions: z.boolean().default(false),
});
export type Settings = z.output<typeof settingsSchema>;

const KEY = 'nanobot-talk';

export function readSettings(): Settings {
  try {
    return settingsSchema.parse(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
  } catch {
    return settingsSchema.parse({});
  }
}

export function writeSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // A browser that keeps nothing: they hold for this page.
  }
}
