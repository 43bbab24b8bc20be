/**
 * Errors on the bridge: docs/reference/bridge.md, "Errors".
 *
 * @module
 */

import { isVoiceError } from '../../errors.ts';

export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  protocolVersion: -32001,
  wrongState: -32002,
  busy: -32003,
  refused: -32004,
  notPossible: -32005,
  cannotStart: -32010,
  cancelled: -32800,
  deadline: -32801,
} as const;

/** An error that a peer answered with, or that ours answers with. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What any failure is answered with: coded errors keep their message and code, nothing else leaks. */
export function rpcErrorOf(error: unknown): { code: number; message: string; data?: unknown } {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return { code, message, ...(data !== undefined && { data }) };
  }
  if (isVoiceError(error)) return { code: RPC.internal, message: error.message, data: { code: error.code } };
  return { code: RPC.internal, message: 'Internal error' };
}
