/**
 * The present values of the slots that the host fills, e.g. the files of the workspace.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { Logger } from '../../observe/index.ts';
import type { PronouncingDictionary } from '../../speech/index.ts';
import type { SlotEntry, SlotTable } from './pattern.ts';
import type { CommandPrompts } from './prompts.ts';
import { spokenEntries } from './spoken-name.ts';

/** Values of a slot as the host has them now, e.g. file names for `file`. */
export type SlotValues = (slot: string) => Promise<readonly string[]> | readonly string[];

export interface SlotSourceOptions {
  readonly names: readonly string[];
  readonly slotValues: SlotValues | undefined;
  readonly prompts: CommandPrompts;
  readonly dictionary: PronouncingDictionary;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SlotSource {
  readonly #options: SlotSourceOptions;
  #table: SlotTable = new Map();
  #refreshing: Promise<SlotTable> | null = null;

  constructor(options: SlotSourceOptions) {
    this.#options = options;
  }

  /** Asks the host again; those who ask meanwhile share the answer. A slot that fails keeps its last values. */
  refresh(): Promise<SlotTable> {
    const { names, slotValues, clock } = this.#options;
    if (names.length === 0 || !slotValues) return Promise.resolve(this.#table);
    this.#refreshing ??= clock.track(this.#load(names, slotValues)).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #load(names: readonly string[], slotValues: SlotValues): Promise<SlotTable> {
    const table = new Map<string, readonly SlotEntry[]>();
    for (const slot of names) {
      try {
        const { prompts, dictionary, logger } = this.#options;
        const { entries, leftOut } = spokenEntries(await slotValues(slot), prompts.names, dictionary);
        if (leftOut > 0) logger.debug({ slot, leftOut }, 'slot values that can’t be said are left out');
        table.set(slot, entries);
      } catch (error) {
        this.#options.logger.warn({ slot, err: error }, 'the host gave no values for a slot');
        table.set(slot, this.#table.get(slot) ?? []);
      }
    }
    this.#table = table;
    return table;
  }
}
