/**
 * Who is on the line, as far as that counts for a decision: logged in, or known by a PIN given on this call.
 *
 * @module
 */

import type { LineOptions } from './line-options.ts';
import { MAX_PIN_TRIES } from './pins.ts';

export class PersonOnLine {
  readonly #options: Pick<LineOptions, 'floor' | 'pins' | 'policy' | 'clock'>;
  #name: string | null;
  #tries = 0;

  constructor(options: Pick<LineOptions, 'floor' | 'pins' | 'policy' | 'clock'>) {
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

  /** Whether they can still show who they are. */
  canShow(): boolean {
    const { floor, pins, policy, clock } = this.#options;
    const hasPins = policy().config.approvers.some(({ pin }) => pin !== undefined);
    return floor.keys && hasPins && this.hasTries && pins.isOpen(floor.caller.id, clock.now());
  }

  /** One of the call's tries. @returns whether it is somebody's PIN, who is on the line from here on */
  enter(entry: string): boolean {
    const { pins, policy, floor, clock } = this.#options;
    this.#tries++;
    const person = pins.check(entry, policy().config.approvers, floor.caller.id, clock.now());
    if (person) this.#name = person.name;
    return person !== null;
  }
}
