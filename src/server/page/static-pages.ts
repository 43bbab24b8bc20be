/**
 * The built pages: two documents, and files named by their content.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Context, Hono } from 'hono';
import { VoiceError } from '../../errors.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import { guarded } from '../pages/operator-login.ts';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
  woff2: 'font/woff2',
  wasm: 'application/wasm',
  json: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json',
};

/** Nothing from elsewhere, nothing in line; pictures and sounds that the page itself made. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const DOCUMENT_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'permissions-policy': 'microphone=(self), camera=(), geolocation=(), speaker-selection=(self)',
};

const NOT_BUILT =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not built</title>' +
  '<p>The pages are not built: <code>npm run build:web</code> makes them.</p></html>';

export const WEB_DIST = fileURLToPath(new URL('../../../web/dist/', import.meta.url));

export interface StaticPagesOptions {
  readonly guard: BrowserGuard;
  /** Where the build is. @defaultValue `web/dist` of this package */
  readonly directory?: string;
}

export function staticPages({ guard, directory = WEB_DIST }: StaticPagesOptions): Hono {
  const app = new Hono();
  const files = filesIn(directory);
  const page = (name: string) => {
    const body = readOrNull(`${directory}/${name}.html`);
    return new Response(body ?? NOT_BUILT, { status: body === null ? 503 : 200, headers: DOCUMENT_HEADERS });
  };
  for (const path of ['/', '/talk', '/operator', '/assets/*'])
    app.use(path, (c, next) => guarded(guard, c, next));
  // Relative, so that a path in front of it stays.
  app.get('/', (c) => c.redirect('talk', 302));
  app.get('/talk', (c) => withoutSlash(c) ?? page('talk'));
  app.get('/operator', (c) => withoutSlash(c) ?? page('operate'));
  app.get('/assets/:name', (c) => {
    const name = c.req.param('name');
    // Only what the build left: no path is made from a request.
    if (!files.has(name)) throw new VoiceError('ROUTE_NOT_FOUND', 'There is nothing at this address.');
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    return c.body(readFileSync(`${directory}/assets/${name}`), 200, {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });
  return app;
}

/** Addresses in the documents are relative: behind a slash they would lead elsewhere. */
function withoutSlash(c: Context): Response | null {
  const [, name] = /\/([^/]+)\/$/.exec(new URL(c.req.url).pathname) ?? [];
  return name === undefined ? null : c.redirect(`../${name}`, 302);
}

function filesIn(directory: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(`${directory}/assets`));
  } catch {
    return new Set();
  }
}

function readOrNull(path: string): Buffer<ArrayBuffer> | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
