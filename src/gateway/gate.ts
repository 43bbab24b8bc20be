/**
 * What may stand in front of a tool: a gate that lets a call pass, or answers it in the tool's place. The loop asks it
 * for every call there is, whoever makes it.
 *
 * @module
 */

import type { ToolResult } from './contract.ts';

/** A call about to run, as the loop knows it. */
export interface GatedCall {
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  readonly name: string;
  /** An object, or the JSON text a model emitted. */
  readonly args: unknown;
  /** The live call that asks, where it is one. */
  readonly callId?: string;
  readonly toolCallId?: string;
}

export type GateVerdict =
  | { readonly run: true }
  /** The tool is not run; this is its result. */
  | { readonly run: false; readonly result: ToolResult };

export interface ToolGate {
  /** Whether the gate has anything to say about a tool. False costs nothing: no promise, no I/O. */
  concerns(name: string): boolean;
  /** Asked only when it is concerned. Never waits for a person, never throws. */
  check(call: GatedCall): Promise<GateVerdict>;
}
