/** Two byte streams, crossed: what one side writes the other reads. */

import { PassThrough } from 'node:stream';

export interface Ends {
  readonly node: { readonly input: PassThrough; readonly output: PassThrough };
  readonly host: { readonly input: PassThrough; readonly output: PassThrough };
}

export function crossedStreams(): Ends {
  const toNode = new PassThrough();
  const toHost = new PassThrough();
  return { node: { input: toNode, output: toHost }, host: { input: toHost, output: toNode } };
}

/** Lets everything that is under way on the streams arrive. */
export async function settle(rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
