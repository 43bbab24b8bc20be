/**
 * Attachments: bytes on disk, rows in the store, each bound to the one event it answers.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import type { AttachmentRow, MediaStore, TurnKey } from '../store/index.ts';
import { Blobs } from './blobs.ts';
import { contentTypeOf, safeName } from './content-type.ts';
import { MAX_ATTACHMENT_BYTES, MAX_NAME_CHARS, MAX_RETENTION_MS, MIN_ATTACHMENT_BYTES } from './limits.ts';

/** Rows that one sweep looks at. */
export const SWEEP_ROWS = 500;

/** What names an attachment inside the server; the model never sees it. */
export interface AttachmentRef {
  readonly id: string;
  readonly kind: AttachmentRow['kind'];
  readonly mime: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface Upload {
  readonly event: TurnKey;
  readonly tool: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** When given, the bytes must have this length and this SHA-256 (hex). */
  readonly size?: number;
  readonly sha256?: string;
}

export interface Loaded {
  readonly attachment: AttachmentRow;
  readonly bytes: Buffer;
}

export interface AttachmentsOptions {
  readonly store: MediaStore;
  readonly directory: string;
  readonly clock: Clock;
  readonly retentionMs: number;
}

const sha256Of = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #blobs: Blobs;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
    this.#blobs = new Blobs(options.directory);
  }

  /**
   * Keeps the bytes. The id follows from tenant, event, tool, name and content, so the same upload again is the same
   * attachment.
   *
   * @throws VoiceError `MEDIA_INVALID` (size or digest are wrong), `STORE_CONFLICT`, `MEDIA_UNAVAILABLE`
   */
  async put(tenant: string, upload: Upload): Promise<AttachmentRef> {
    const { bytes, event, tool } = upload;
    if (bytes.length < MIN_ATTACHMENT_BYTES || bytes.length > MAX_ATTACHMENT_BYTES)
      throw new VoiceError('MEDIA_INVALID', 'An attachment has 1 byte to 64 MiB.');
    const sha256 = sha256Of(bytes);
    if ((upload.size ?? bytes.length) !== bytes.length || (upload.sha256 ?? sha256) !== sha256)
      throw new VoiceError('MEDIA_INVALID', 'The bytes are not the ones that were announced.');
    const type = contentTypeOf(bytes);
    const name = safeName(upload.name, type, MAX_NAME_CHARS);
    const id = `att_${sha256Of([tenant, event.callId, event.turn, tool, name, sha256].join('\0')).slice(0, 32)}`;
    const ref = { id, kind: type.kind, mime: type.mime, name, size: bytes.length, sha256 };
    const createdAt = this.#options.clock.wallNow();
    const expiresAt = createdAt + Math.min(this.#options.retentionMs, MAX_RETENTION_MS);
    try {
      await this.#blobs.keep(bytes, sha256, () =>
        this.#options.store.putAttachment({ tenant, ...ref, createdAt, expiresAt }),
      );
    } catch (error) {
      if (error instanceof VoiceError) throw error;
      throw new VoiceError('MEDIA_UNAVAILABLE', 'The attachment could not be kept.', { cause: error });
    }
    return ref;
  }

  /** @throws VoiceError `MEDIA_NOT_FOUND`: no such attachment or event, too old, or bound to another event */
  async bind(tenant: string, id: string, event: TurnKey): Promise<void> {
    const bound = await this.#options.store.bindAttachment(tenant, id, event, this.#options.clock.wallNow());
    if (!bound) throw notFound();
  }

  /**
   * The attachment with its bytes, checked again.
   *
   * @throws VoiceError `MEDIA_NOT_FOUND` whatever of tenant, event, id, age, size or digest does not fit
   */
  async load(tenant: string, event: TurnKey, id: string): Promise<Loaded> {
    const { store, clock } = this.#options;
    const attachment = await store.findAttachment(tenant, id, event, clock.wallNow());
    const bytes = attachment && (await this.#blobs.read(attachment.sha256, attachment.size));
    if (!attachment || !bytes || contentTypeOf(bytes).mime !== attachment.mime) throw notFound();
    return { attachment, bytes };
  }

  /** The row alone, for what needs no bytes. @throws VoiceError `MEDIA_NOT_FOUND` */
  async find(tenant: string, event: TurnKey, id: string): Promise<AttachmentRow> {
    const { store, clock } = this.#options;
    const attachment = await store.findAttachment(tenant, id, event, clock.wallNow());
    if (!attachment) throw notFound();
    return attachment;
  }

  /** Forgets what expired; resolves to how many contents left the disk. */
  async sweep(): Promise<number> {
    const { store, clock } = this.#options;
    const unused = await store.sweepAttachments(clock.wallNow(), SWEEP_ROWS);
    if (unused.length > 0) await this.#blobs.remove(unused, (digests) => store.usedDigests(digests));
    return unused.length;
  }

  /** Removes contents that a crash left without a row. For the start, before anything is put. */
  async removeStrays(): Promise<void> {
    const digests = await this.#blobs.list();
    for (let at = 0; at < digests.length; at += SWEEP_ROWS) {
      const page = digests.slice(at, at + SWEEP_ROWS);
      await this.#blobs.remove(page, (some) => this.#options.store.usedDigests(some));
    }
  }
}

const notFound = () => new VoiceError('MEDIA_NOT_FOUND', 'There is no such attachment.');
