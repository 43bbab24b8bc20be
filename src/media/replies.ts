/**
 * What a media tool does, in this order, each step durable before the next: the policy decides and the audit says
 * allowed → put → bind → intent → the audit says executed → the model is told `queued`.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import type { MediaConfig } from '../config-media.ts';
import { VoiceError } from '../errors.ts';
import type { CallMediaRow, MediaStore, TurnKey } from '../store/index.ts';
import type { Attachments } from './attachments.ts';
import { toolAudit } from './audit.ts';
import { MAX_CAPTION_CHARS, MAX_FALLBACK_CHARS } from './limits.ts';
import { chooseTarget } from './targets.ts';

/** Who runs a media tool, as the server knows it; nothing of it comes from the model. */
export interface MediaRunContext {
  readonly callId: string;
  readonly sessionKey: string;
  readonly toolCallId: string;
  /** The caller's turn; found by the tool call's outcome when left out, as for a tool that was approved later. */
  readonly turn?: number;
}

/** What a media tool makes. */
export interface MadeMedia {
  readonly bytes: Uint8Array;
  /** Its ending follows from the bytes, not from here. */
  readonly name: string;
  readonly caption: string;
  /** Said, word for word, where nothing can be shown. */
  readonly fallback: string;
}

/** Steps that are durable once they are reported; for tests that kill the process there. */
export type MediaStep = 'allowed' | 'put' | 'bound' | 'intent' | 'executed';

export interface RepliesOptions {
  readonly store: MediaStore;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly config: MediaConfig;
  /** Called once there is something to deliver. */
  readonly onQueued: () => void;
  readonly onStep?: (step: MediaStep) => void;
}

export class Replies {
  readonly #options: RepliesOptions;

  constructor(options: RepliesOptions) {
    this.#options = options;
  }

  /**
   * Runs `make` and queues what it gives. Rejects with whatever went wrong; a media tool tells the model none of it.
   *
   * @throws VoiceError
   */
  async run(
    tool: string,
    context: MediaRunContext,
    signal: AbortSignal,
    make: () => Promise<MadeMedia>,
  ): Promise<void> {
    const { store, attachments, clock, config, onQueued, onStep } = this.#options;
    const { callId, toolCallId } = context;
    const { call, event } = await this.#admit(context);
    const { tenant } = call;
    const subject = { tenant, event, toolCallId, tool };
    if (!call.tools.includes(tool) || call.sessionKey !== context.sessionKey) {
      await store.addMediaAudit(toolAudit('tool.denied', subject, clock.wallNow(), 'not_authorized'));
      throw new VoiceError('GATEWAY_TOOL_DENIED', `The session has no media tool '${tool}'.`);
    }
    await store.addMediaAudit(toolAudit('tool.allowed', subject, clock.wallNow()));
    onStep?.('allowed');

    signal.throwIfAborted();
    const { bytes, name, caption, fallback } = await make();
    signal.throwIfAborted();
    const ref = await attachments.put(tenant, { event, tool, name, bytes });
    onStep?.('put');
    await attachments.bind(tenant, ref.id, event);
    onStep?.('bound');
    const { expiresAt } = await attachments.find(tenant, event, ref.id);
    const added = await store.addIntent(
      {
        tenant,
        event,
        toolCallId,
        attachmentId: ref.id,
        kind: ref.kind,
        caption: cut(caption, MAX_CAPTION_CHARS),
        fallback: cut(fallback, MAX_FALLBACK_CHARS),
        target: chooseTarget(call, ref, config.messaging.mmsMaxBytes),
        requestId: `${callId}:${event.turn}`,
        // 32 hex digits, as a W3C trace id has.
        traceId: callId,
        createdAt: clock.wallNow(),
        expiresAt,
      },
      config.maxPerCall,
    );
    if (added === 'over_budget') {
      await store.addMediaAudit(toolAudit('tool.denied', subject, clock.wallNow(), 'over_budget'));
      throw new VoiceError('TOOL_LIMIT_REACHED', 'The call has sent as much media as it may.');
    }
    onStep?.('intent');
    await store.recordExecuted(event, toolCallId, toolAudit('tool.executed', subject, clock.wallNow()));
    onStep?.('executed');
    onQueued();
  }

  async #admit({
    callId,
    toolCallId,
    turn,
  }: MediaRunContext): Promise<{ call: CallMediaRow; event: TurnKey }> {
    const { store } = this.#options;
    const call = await store.getCallMedia(callId);
    const known = turn ?? (await store.turnOfToolCall(callId, toolCallId));
    if (!call || known === null)
      throw new VoiceError('MEDIA_UNAVAILABLE', 'Media can be sent on a call only.');
    return { call, event: { callId, turn: known } };
  }
}

/** Control characters have no place in what is shown or said. */
function cut(text: string, maxChars: number): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return clean.length <= maxChars
    ? clean
    : `${clean.slice(0, maxChars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
