/**
 * The desk: takes verified calls in, bounds them, hands each its leg when the media arrives, and closes them all in
 * good order.
 *
 * @module
 */

import type { ClockTimer } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import type { CallLeg } from '../leg/index.ts';
import type { MediaCaller } from '../media/index.ts';
import { newCallId } from '../worker-slot.ts';
import { Call } from './call.ts';
import { chatIdOf } from './caller.ts';
import type { CallerInfo, CallParts, CallPast } from './options.ts';

/** A call whose media does not come by then is closed. */
export const CLAIM_TIMEOUT_MS = 30_000;

/** A call that broke off with its process is gone on with for so long after the restart. */
export const CONTINUE_WITHIN_MS = 60_000;

interface Entry {
  readonly call: Call;
  readonly key: string;
  readonly ended: Promise<void>;
  claim: ClockTimer | null;
}

export class CallDesk {
  readonly #parts: CallParts;
  readonly #entries = new Map<string, Entry>();
  readonly #byCarrierCall = new Map<string, Promise<{ callId: string }>>();
  #draining = false;

  /** Called for each new call, before anything happens on it. */
  onCall: (call: Call, info: CallerInfo) => void = () => {};

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Calls with a caller on the line. */
  get activeCalls(): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.claim === null) count++;
    return count;
  }

  /** Admitted calls whose media has not come yet. */
  get pendingCalls(): number {
    return this.#byCarrierCall.size - this.activeCalls;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /**
   * Takes a verified call in and opens its model session, so that the greeting is ready when the caller is. The same
   * carrier call twice (webhooks are sent again) is one call.
   *
   * @throws VoiceError `CALL_LIMIT_REACHED`, `SHUTTING_DOWN`, `MODEL_UNAVAILABLE`, `MODEL_AUTH_FAILED`, `MODEL_PROTOCOL`
   */
  admit(info: CallerInfo): Promise<{ callId: string }> {
    const key = keyOf(info.carrier, info.carrierCallId);
    const known = this.#byCarrierCall.get(key);
    if (known) return known;
    if (this.#draining)
      return Promise.reject(new VoiceError('SHUTTING_DOWN', 'No new calls: the gateway is stopping.'));
    if (this.#byCarrierCall.size >= this.#parts.config.limits.maxCalls)
      return Promise.reject(this.#allBusy());
    const admitted = this.#open(info, key);
    this.#byCarrierCall.set(key, admitted);
    admitted.catch(() => this.#byCarrierCall.delete(key));
    return admitted;
  }

  /**
   * Gives an admitted call its leg, or a new one in place of the one it has: the carrier's stream came anew, and the
   * newest counts.
   *
   * @throws VoiceError `CALL_NOT_FOUND`: not admitted, or ended; `LEG_PROTOCOL`: a leg of another kind
   */
  attach(callId: string, leg: CallLeg): void {
    const entry = this.#entries.get(callId);
    if (!entry) throw new VoiceError('CALL_NOT_FOUND', 'There is no such call waiting for its media.');
    entry.call.attach(leg);
    entry.claim?.clear();
    entry.claim = null;
  }

  /** Whether this call is here and not over. */
  isLive(callId: string): boolean {
    return this.#entries.get(callId)?.call.isOver === false;
  }

  /** What is left of a call that a process before this one was serving; `null` when it ended in any other way. */
  async brokeOff(callId: string): Promise<CallPast | null> {
    const { store, clock, channel } = this.#parts;
    const row = await store.getCall(callId);
    const isFresh = row?.endedAt != null && clock.wallNow() - row.endedAt < CONTINUE_WITHIN_MS;
    return row?.endReason === 'crashed' && isFresh && row.sessionKey.startsWith(`${channel}:`)
      ? { sessionKey: row.sessionKey }
      : null;
  }

  /** The carrier said that a call is over. One that still has its leg hears it from there. */
  carrierEnded(carrier: string, carrierCallId: string): void {
    for (const { call, key } of this.#entries.values())
      if (key === keyOf(carrier, carrierCallId) && !call.isAttached) call.end('caller_hangup');
  }

  call(callId: string): Call | undefined {
    return this.#entries.get(callId)?.call;
  }

  /** The call of a chat, while a caller is on the line. */
  callOfChat(chatId: string): Call | undefined {
    for (const { call } of this.#entries.values()) if (call.chatId === chatId && call.isAttached) return call;
    return undefined;
  }

  /** No new calls. Resolves when all have ended; past the bound the rest is told so and hung up. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const { clock } = this.#parts;
    for (const entry of this.#entries.values()) if (entry.claim !== null) entry.call.end('shutdown');
    const soft = clock.setTimeout(() => {
      for (const { call } of this.#entries.values()) call.wind('shutdown', this.#parts.prompts.shutdown);
    }, timeoutMs);
    const hard = clock.setTimeout(() => this.hangUpAll(), timeoutMs + SHUTDOWN_GOODBYE_MS);
    // Calls that end meanwhile leave the map; what is in it now is all that there will be.
    await Promise.all([...this.#entries.values()].map((entry) => entry.ended));
    soft.clear();
    hard.clear();
  }

  /** Ends every call at once. */
  hangUpAll(): void {
    for (const { call } of this.#entries.values()) call.end('shutdown');
  }

  /** The host's tools are others now: every call's model is told. */
  refreshTools(): void {
    for (const { call } of this.#entries.values()) call.refreshTools();
  }

  #allBusy(): VoiceError {
    const { maxCalls } = this.#parts.config.limits;
    return new VoiceError(
      'CALL_LIMIT_REACHED',
      `All ${maxCalls} lines are busy (channels.realtime.limits.maxCalls).`,
    );
  }

  async #open(info: CallerInfo, key: string): Promise<{ callId: string }> {
    const { config, clock, channel, history, media, admits, slot = null } = this.#parts;
    if (admits && !(await admits(info.identity.id ?? '')))
      throw new VoiceError('CALL_REFUSED', 'The host does not let this caller in.');
    const id = newCallId(slot);
    const chatId =
      info.continues?.sessionKey.slice(channel.length + 1) ??
      chatIdOf(info.identity, id, config.identity.personSession);
    const sessionKey = `${channel}:${chatId}`;
    const past = await history(sessionKey).catch(() => []);
    if (slot && !(await slot.lines.take())) throw this.#allBusy();
    const call = new Call({ id, info, chatId, sessionKey, history: past, parts: this.#parts });
    const entry: Entry = {
      call,
      key,
      ended: new Promise((resolve) => {
        call.on('ended', () => {
          entry.claim?.clear();
          this.#entries.delete(id);
          this.#byCarrierCall.delete(key);
          media?.closeCall(id);
          slot?.lines.release();
          resolve();
        });
      }),
      claim: clock.setTimeout(() => call.end('abandoned'), CLAIM_TIMEOUT_MS),
    };
    this.#entries.set(id, entry);
    this.onCall(call, info);
    try {
      // Refused here, a call has no model session and no sound.
      await media?.openCall(mediaCaller(id, sessionKey, info));
    } catch (error) {
      call.end('refused');
      throw error;
    }
    try {
      await call.open();
    } catch (error) {
      call.end('model_failed');
      throw error;
    }
    return { callId: id };
  }
}

function keyOf(carrier: string, carrierCallId: string): string {
  return `${carrier}:${carrierCallId}`;
}

function mediaCaller(callId: string, sessionKey: string, { identity, carrier }: CallerInfo): MediaCaller {
  return { callId, sessionKey, strength: identity.strength, id: identity.id, hasPage: carrier === 'webrtc' };
}

/** How long callers may take to hear that the line closes. */
export const SHUTDOWN_GOODBYE_MS = 10_000;
