/**
 * The one-shot token that lets an approved call through the gate: bound to the approval, the session, the tool and the
 * hash of the arguments, carried beside the call and never through anything a tool or a channel can set.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';

export interface ReplayToken {
  readonly approvalId: string;
  readonly sessionKey: string;
  readonly tool: string;
  readonly argsHash: string;
  /** Set by the first call that fits; a second one of the same tool asks again. */
  used: boolean;
}

const storage = new AsyncLocalStorage<ReplayToken>();

/** Runs the replay of one approved call; whatever it starts sees the token, and only the first that fits may use it. */
export function withReplayToken<T>(token: ReplayToken, work: () => Promise<T>): Promise<T> {
  return storage.run(token, work);
}

/** Takes the token if it fits this very call. */
export function takeReplayToken(
  call: Pick<ReplayToken, 'sessionKey' | 'tool' | 'argsHash'>,
): ReplayToken | null {
  const token = storage.getStore();
  if (!token || token.used) return null;
  const fits =
    token.tool === call.tool && token.argsHash === call.argsHash && token.sessionKey === call.sessionKey;
  if (!fits) return null;
  token.used = true;
  return token;
}
