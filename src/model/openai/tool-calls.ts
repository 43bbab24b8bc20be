/**
 * Function calls out of the event stream, each exactly once. A call is complete in `output_item.done`, in
 * `function_call_arguments.done` or at the latest in `response.done`; servers leave out one or the other.
 *
 * @module
 */

import { BoundedMap } from './bounded-map.ts';
import { itemOf, type ServerItem } from './server-events.ts';

/** Call ids remembered, so that none is reported twice. */
export const MAX_REMEMBERED_CALLS = 1024;
/** Function calls that have begun and are not complete. */
export const MAX_OPEN_CALLS = 64;

export interface CompleteCall {
  readonly responseId: string;
  readonly callId: string;
  readonly name: string;
  readonly args: string;
}

export class ToolCallCollector {
  readonly #seen = new BoundedMap<string, true>(MAX_REMEMBERED_CALLS);
  /** Item id → the function's name, for servers that leave it out of `arguments.done`. */
  readonly #names = new BoundedMap<string, string>(MAX_OPEN_CALLS);

  added(item: ServerItem): void {
    if (item.type === 'function_call' && item.id && item.name) this.#names.set(item.id, item.name);
  }

  argumentsDone(
    responseId: string,
    itemId: string,
    call: { callId: string; name: string | null; args: string },
  ): CompleteCall | null {
    const name = call.name ?? this.#names.get(itemId);
    // Without a name yet: `output_item.done` has it.
    if (name === undefined) return null;
    return this.#once({ responseId, callId: call.callId, name, args: call.args });
  }

  itemDone(responseId: string, item: ServerItem): CompleteCall | null {
    if (item.id) this.#names.delete(item.id);
    if (item.type !== 'function_call' || !item.call_id || !item.name) return null;
    // A call that was cut off by a cancel; its arguments are half a text.
    if (item.status === 'incomplete' || item.status === 'in_progress') return null;
    return this.#once({ responseId, callId: item.call_id, name: item.name, args: item.arguments ?? '' });
  }

  responseDone(responseId: string, output: readonly unknown[]): CompleteCall[] {
    return output.flatMap((value) => {
      const item = itemOf(value);
      const call = item && this.itemDone(responseId, item);
      return call ? [call] : [];
    });
  }

  #once(call: CompleteCall): CompleteCall | null {
    if (this.#seen.has(call.callId)) return null;
    this.#seen.set(call.callId, true);
    return call;
  }
}
