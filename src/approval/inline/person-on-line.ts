/**
 * Who is on the line, as far as that counts for a decision: logged in, or known by a PIN given on this call.
 *
 * @module
 */

import type { LineOptions } from './line-options.ts';
import { MAX_PIN_TRIES } from './pins.ts';

type Options = Pick<LineOptions, 'floor' | 'pins' | 'policy'>;

export class PersonOnLine {
  readonly #options: Options;
  #name: string | null;
  #tries = 0;
  #numberKey: Promise<string> | null = null;

  constructor(options: Options) {
    this.#options = options;
    const { strength, id } = options.floor.caller;
    this.#name = strength === 'authenticated' ? id : null;
  }

  /** Their name, once they are authenticated. */
  get name(): string | null {
    return this.#name;
  }

  get hasTries(): boolean {
    return this.#tries < MAX_PIN_TRIES;
  }

  isApprover(): boolean {
    if (this.#name === null) return false;
    const { approvers } = this.#options.policy().config;
    return approvers.length === 0 || approvers.some(({ name }) => name === this.#name);
  }

  /** Whether they can still show who they are. @throws VoiceError `STORE_UNAVAILABLE` */
  async canShow(): Promise<boolean> {
    const { floor, pins, policy } = this.#options;
    const hasPins = policy().config.approvers.some(({ pin }) => pin !== undefined);
    return floor.keys && hasPins && this.hasTries && (await pins.isOpen(await this.#key()));
  }

  /**
   * One of the call's tries.
   *
   * @returns whether it is somebody's PIN, who is on the line from here on
   * @throws VoiceError `STORE_UNAVAILABLE`
   */
  async enter(entry: string): Promise<boolean> {
    const { pins, policy } = this.#options;
    this.#tries++;
    const person = await pins.check(entry, policy().config.approvers, await this.#key());
    if (person) this.#name = person.name;
    return person !== null;
  }

  /** Slow to make: once for the call. */
  async #key(): Promise<string> {
    const { pins, floor } = this.#options;
    this.#numberKey ??= pins.keyOf(floor.caller.id);
    try {
      return await this.#numberKey;
    } catch (error) {
      this.#numberKey = null;
      throw error;
    }
  }
}
