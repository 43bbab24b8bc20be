/** Looks at a page as people with other eyes do (axe), and keeps pictures of it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { writeWav } from '../../src/audio/index.ts';

const ARTEFACTS = fileURLToPath(new URL('../../test-artefacts/', import.meta.url));

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What is wrong with names, roles, contrast, focus: WCAG 2.2 A and AA, and good practice. */
export async function barriers(page: Page): Promise<string[]> {
  // By the debugger: the page's policy lets in no script but its own.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>('axe.run(document)');
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
}

/** Whether something is wider than the screen. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > innerWidth');
}

export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: `${ARTEFACTS}${name}.png` });
}

/** What a page played. @param samples - 48 kHz */
export function keepSound(name: string, samples: Int16Array): void {
  mkdirSync(ARTEFACTS, { recursive: true });
  writeFileSync(`${ARTEFACTS}${name}.wav`, writeWav({ sampleRate: 48_000, channels: [samples] }));
}
