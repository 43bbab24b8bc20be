/**
 * Stands where the config had no gate at start: it lets everything pass, until an edit of the config designates or denies
 * tools. Nobody can be asked then before a restart, so these are held back; a gate does not open because it came late.
 *
 * @module
 */

import type { GatedCall, GateVerdict, ToolGate } from '../gateway/index.ts';
import { staticRung } from './ladder.ts';
import { deniedByPolicyResult, unapprovableResult } from './outcome-texts.ts';
import type { PolicyKeeper } from './policy-keeper.ts';

export class LateGate implements ToolGate {
  readonly #keeper: Pick<PolicyKeeper, 'current'>;
  readonly #off: boolean;

  constructor(keeper: Pick<PolicyKeeper, 'current'>, off: boolean) {
    this.#keeper = keeper;
    this.#off = off;
  }

  concerns(name: string): boolean {
    return this.#rung(name)?.verdict !== 'allow';
  }

  async check({ name }: GatedCall): Promise<GateVerdict> {
    const rung = this.#rung(name);
    if (rung?.verdict === 'allow') return { run: true };
    const why = 'a person has to approve it since the config was edited, and nobody can before a restart.';
    return { run: false, result: rung ? deniedByPolicyResult(name) : unapprovableResult(name, why) };
  }

  #rung(tool: string) {
    return staticRung(this.#keeper.current, tool, this.#off);
  }
}
