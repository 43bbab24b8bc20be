/**
 * Attachments over HTTP, behind signed links. What is served can't act: it is a download, of a type that we found out,
 * in a sandbox; only pictures of three types are shown in line.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import { VoiceError } from '../../errors.ts';
import {
  INLINE_TYPES,
  type LinkPurpose,
  type Loaded,
  MAX_FILES_SERVED,
  MAX_LINK_OPENS,
  type Media,
  parseLink,
} from '../../media/index.ts';
import type { OutboxRow } from '../../store/index.ts';
import { pageSessionOf } from './page-session.ts';
import { readerPage } from './reader-page.ts';

/** Whatever is wrong with a link, it says the same. */
const notFound = () => new VoiceError('MEDIA_NOT_FOUND', 'There is nothing at this address any more.');

export class MediaFiles {
  readonly #media: Media;
  #serving = 0;

  constructor(media: Media) {
    this.#media = media;
  }

  routes(): Hono {
    const app = new Hono();
    // A picture on the caller's page: the link is its page's alone.
    app.get('/media/p/:token', async (c) => {
      const { signer, clock } = this.#media;
      const session = pageSessionOf(signer, c.req.header('cookie') ?? null, clock.wallNow());
      if (session === null) throw notFound();
      const row = await this.#verified(c, 'page', session);
      if (row.event.callId !== session) throw notFound();
      return this.#file(row);
    });
    // A carrier fetches the picture of an MMS; it has no session.
    app.get('/media/c/:token', async (c) => this.#file(await this.#verified(c, 'carrier', '')));
    // From an SMS: looking costs nothing, the button does, so that a preview does not use the link up.
    app.get('/media/m/:token', async (c) => {
      await this.#verified(c, 'reader', '');
      return readerPage();
    });
    app.post('/media/m/:token', async (c) => {
      const row = await this.#verified(c, 'reader', '');
      return this.#file(row, () => this.#media.store.openOutboxLink(row.deliveryId, MAX_LINK_OPENS));
    });
    return app;
  }

  async #verified(c: Context, purpose: LinkPurpose, session: string): Promise<OutboxRow> {
    const { store, signer, clock } = this.#media;
    const link = parseLink(c.req.param('token') ?? '');
    const row = link && (await store.getOutbox(link.deliveryId));
    if (!link || !row || !signer.verify(link, purpose, row, session, clock.wallNow())) throw notFound();
    return row;
  }

  async #file(row: OutboxRow, mayOpen: () => Promise<boolean> = async () => true): Promise<Response> {
    if (this.#serving >= MAX_FILES_SERVED)
      throw new VoiceError('MEDIA_UNAVAILABLE', 'Too many files are being served; try again in a moment.');
    this.#serving += 1;
    try {
      // Checked before a byte leaves, and before the link counts as used.
      const loaded = await this.#media.attachments.load(row.tenant, row.event, row.attachmentId);
      if (!(await mayOpen())) throw notFound();
      return fileResponse(loaded);
    } finally {
      this.#serving -= 1;
    }
  }
}

function fileResponse({ attachment, bytes }: Loaded): Response {
  const { mime, name } = attachment;
  const isInline = INLINE_TYPES.has(mime);
  return new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': mime === 'text/plain' ? 'text/plain; charset=utf-8' : mime,
      'content-length': String(bytes.length),
      'content-disposition': `${isInline ? 'inline' : 'attachment'}; ${fileName(name)}`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    },
  });
}

/** RFC 6266: a plain name for everybody, the whole one for who reads it. */
function fileName(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_');
  const whole = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `filename="${plain}"; filename*=UTF-8''${whole}`;
}
