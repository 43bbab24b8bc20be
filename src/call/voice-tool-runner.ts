/**
 * Runs the call's own tools.
 *
 * @module
 */

import type { z } from 'zod';
import { isVoiceError } from '../errors.ts';
import { toolModeOf } from './tool-policy.ts';
import type { ToolCall } from './tools.ts';
import {
  ASK_AGENT,
  askArgs,
  dtmfArgs,
  END_CALL,
  SEND_DTMF,
  STOP_WORKING,
  TRANSFER_CALL,
  transferArgs,
  VOICE_TOOL_TEXT,
} from './voice-tools.ts';
import type { Wiring } from './wiring.ts';

export interface VoiceToolResult {
  readonly output: string;
  readonly isError: boolean;
}

export interface VoiceToolContext {
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
  /** The caller's turn that it answers. */
  readonly turn?: number;
}

/** Stops every other tool; says which ones stopped and which ones can't be. */
type StopOthers = (asking: string) => { stopped: string[]; left: string[] };

const ok = (output: string): VoiceToolResult => ({ output, isError: false });
const failed = (output: string): VoiceToolResult => ({ output, isError: true });

export class VoiceToolRunner {
  readonly #wiring: Wiring;
  readonly #stopOthers: StopOthers;
  #goodbyeWanted = false;

  constructor(wiring: Wiring, stopOthers: StopOthers) {
    this.#wiring = wiring;
    this.#stopOthers = stopOthers;
  }

  /** Whether the call ends and nothing more is to be said; asked before the model is made to speak. */
  isGoodbyeSaid(): boolean {
    const isSaid = this.#wiring.hangup.phase === 'closing' && !this.#goodbyeWanted;
    this.#goodbyeWanted = false;
    return isSaid;
  }

  /** @returns `unknown` for a tool that is not of the call, or that this call does not have */
  run(call: ToolCall, context: VoiceToolContext): VoiceToolResult | Promise<VoiceToolResult> | 'unknown' {
    const { leg } = this.#wiring.options.info;
    switch (call.name) {
      case END_CALL:
        return this.#endCall(call);
      case STOP_WORKING:
        return this.#stopWorking(call);
      case TRANSFER_CALL:
        return leg.transfer ? this.#transfer(call, context) : 'unknown';
      case SEND_DTMF:
        return leg.dtmfOut ? this.#sendDtmf(call, context) : 'unknown';
      case ASK_AGENT:
        return this.#askAgent(call, context);
      default:
        return 'unknown';
    }
  }

  #endCall({ responseId }: ToolCall): VoiceToolResult {
    const { session, hangup, now } = this.#wiring;
    const spoken = session.spokeIn(responseId);
    this.#goodbyeWanted = !spoken;
    hangup.plan('agent_hangup', { final: false, spoken }, now());
    return ok(spoken ? VOICE_TOOL_TEXT.ending : VOICE_TOOL_TEXT.sayGoodbye);
  }

  #stopWorking({ callId }: ToolCall): VoiceToolResult {
    const { stopped, left } = this.#stopOthers(callId);
    const told = [
      stopped.length > 0 ? `Stopped: ${stopped.join(', ')}.` : '',
      left.length > 0 ? `Still finishing, and can not be taken back: ${left.join(', ')}.` : '',
    ].filter((each) => each !== '');
    return ok(told.length > 0 ? told.join(' ') : VOICE_TOOL_TEXT.nothingToStop);
  }

  async #transfer(call: ToolCall, { signal }: VoiceToolContext): Promise<VoiceToolResult> {
    const { options, line, quiet, hangup, now } = this.#wiring;
    const { transfers } = options.parts.config;
    const args = parse(transferArgs, call.args);
    const target = transfers.find((each) => each.name === args?.to)?.target;
    if (target === undefined) {
      const names = transfers.map((each) => each.name).join(', ');
      return failed(`Error: there is no such person or place to transfer to. There is: ${names}.`);
    }
    // The caller hears out whom they are connected to.
    if (!(await quiet.wait(signal))) return failed('Cancelled: the call was not transferred.');
    try {
      if (!line.leg) return failed(VOICE_TOOL_TEXT.notTransferred);
      await line.leg.transfer(target);
    } catch (error) {
      this.#refused(TRANSFER_CALL, error);
      return failed(VOICE_TOOL_TEXT.notTransferred);
    }
    hangup.plan('transferred', { final: true, spoken: true }, now());
    return ok(VOICE_TOOL_TEXT.transferred);
  }

  async #sendDtmf(call: ToolCall, { signal }: VoiceToolContext): Promise<VoiceToolResult> {
    const { line, quiet } = this.#wiring;
    const args = parse(dtmfArgs, call.args);
    if (!args) return failed('Error: digits must be 1 to 32 of 0-9, *, #, A-D, w.');
    // Keys in the middle of a word are no keys.
    if (!(await quiet.wait(signal))) return failed('Cancelled: no keys were sent.');
    try {
      await line.sendDigits(args.digits);
      return ok(VOICE_TOOL_TEXT.dtmfSent);
    } catch (error) {
      this.#refused(SEND_DTMF, error);
      return failed(VOICE_TOOL_TEXT.dtmfFailed);
    }
  }

  /** For the operator; a coded error's message holds no number. */
  #refused(tool: string, error: unknown): void {
    const { parts, id } = this.#wiring.options;
    const known = isVoiceError(error) ? { code: error.code, why: error.message } : { code: 'INTERNAL' };
    parts.logger.warn({ callId: id, tool, ...known }, 'the line did not do it');
  }

  #askAgent(
    call: ToolCall,
    { signal, onProgress, turn }: VoiceToolContext,
  ): Promise<VoiceToolResult> | VoiceToolResult | 'unknown' {
    const { parts, sessionKey, chatId, id } = this.#wiring.options;
    const { delegate, channel } = parts;
    if (!delegate || toolModeOf(parts) === 'direct') return 'unknown';
    const args = parse(askArgs, call.args);
    if (!args) return failed('Error: `request` must be a text that says what is wanted.');
    const text =
      args.context === undefined || args.context === ''
        ? args.request
        : `${args.request}\n\nFrom the phone call: ${args.context}`;
    const asking = { callId: id, toolCallId: call.callId, ...(turn !== undefined && { turn }) };
    return delegate
      .ask({ sessionKey, channel, chatId, text, signal, onProgress, call: asking })
      .then(({ text: output, isError }) => ({ output, isError }));
  }
}

function parse<T>(schema: z.ZodType<T>, args: string): T | null {
  try {
    const parsed = schema.safeParse(args.trim() === '' ? {} : JSON.parse(args));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
