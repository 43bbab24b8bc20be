/**
 * A caller with a browser: a recording for its microphone, the built page, and ears on what the page plays.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { readWav, resample, writeWav } from '../../src/audio/index.ts';
import { launch } from '../web/browser.ts';

const DEMO = new URL('../../assets/demo/', import.meta.url);
const MICROPHONE_RATE = 48_000;

/** What the caller says, and when, in seconds since the microphone was opened. */
export interface Line {
  readonly at: number;
  /** A file of `assets/demo`, without `.wav`. */
  readonly say: string;
}

export function writeCaller(path: string, lines: readonly Line[], seconds: number): void {
  const track = new Int16Array(seconds * MICROPHONE_RATE);
  for (const { at, say } of lines) {
    const { channels } = readWav(readFileSync(new URL(`${say}.wav`, DEMO)));
    track.set(resample(channels[0]!, 8000, MICROPHONE_RATE), Math.round(at * MICROPHONE_RATE));
  }
  writeFileSync(path, writeWav({ sampleRate: MICROPHONE_RATE, channels: [track] }));
}

export function launchCaller(recording: string, flags: readonly string[] = []): Promise<Browser> {
  return launch([
    `--use-file-for-fake-audio-capture=${recording}%noloop`,
    '--allow-loopback-in-peer-connection',
    '--autoplay-policy=no-user-gesture-required',
    ...flags,
  ]);
}

/** One side as the page had it: 48 kHz, and when its first sample was, in ms of the page's clock. */
export interface Track {
  readonly samples: Int16Array;
  readonly startMs: number;
}

/** What runs in the page; its types are the browser's, so it is put in as text. */
const TAP = `{${stripTypeScriptTypes(readFileSync(new URL('../web/in-page/tap.ts', import.meta.url), 'utf8'))}}`;

export async function openCaller(browser: Browser, url: string, token: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.addInitScript({ content: TAP });
  await page.goto(`${url}/talk`);
  await page.getByLabel('The operator’s token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  return page;
}

export async function heard(page: Page, side: 'caller' | 'agent'): Promise<Track> {
  const { base64, startMs } = await page.evaluate<{ base64: string; startMs: number }>(
    `tapped.heard('${side}')`,
  );
  const bytes = Buffer.from(base64, 'base64');
  const samples = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return { samples: new Int16Array(samples), startMs };
}

/** How the sound travels: the kind of the page's end of the nominated pair, and which network; `null` without WebRTC. */
export function route(page: Page): Promise<{ type: string; protocol: string } | null> {
  return page.evaluate('tapped.route()');
}
