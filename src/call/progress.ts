/**
 * A call as it happens, for a terminal or a page that watches it. It carries what was said: never to a log.
 *
 * @module
 */

export type CallProgress =
  | { readonly type: 'caller_speaks' }
  | { readonly type: 'caller_stops' }
  | { readonly type: 'caller_said'; readonly text: string }
  | { readonly type: 'agent_said'; readonly text: string; readonly whole: boolean }
  | { readonly type: 'interrupted'; readonly heardMs: number }
  /** It was a noise: the agent goes on where it was cut. */
  | { readonly type: 'resumed'; readonly restMs: number }
  /** The carrier's stream broke off, or is back. */
  | { readonly type: 'line'; readonly state: 'lost' | 'back' }
  | { readonly type: 'tool_started'; readonly name: string; readonly args: string }
  | {
      readonly type: 'tool_ended';
      readonly name: string;
      readonly output: string;
      readonly isError: boolean;
      readonly tookMs: number;
    }
  /** From the end of the caller's speech to the agent's first audio. */
  | { readonly type: 'latency'; readonly turn: number; readonly latencyMs: number; readonly toolMs: number }
  /** A picture or a file went to the caller, or was told of in words (`spoken`). */
  | {
      readonly type: 'media_sent';
      readonly kind: string;
      readonly caption: string;
      readonly route: string;
    }
  | { readonly type: 'fault'; readonly code: string };
