/**
 * What to answer. Pure: a turn, or results of tools, in; words and tool calls out.
 *
 * @module
 */

import type { Command, Commands } from './commands.ts';
import type { PhraseMeaning } from './phrase-file.ts';
import { type CommandPrompts, fillIn } from './prompts.ts';
import { sayList } from './spoken-text.ts';
import { sayToolResult } from './tool-result.ts';

/** The tool that ends the call, where the session has it. */
export const END_CALL = 'end_call';

/** The tool that stops the others, where the session has it. */
export const STOP_WORKING = 'stop_working';

/** Examples that one answer names. */
const MAX_EXAMPLES = 3;

/** A tool's results remembered, for a host that answers "unchanged" when the same is asked again. */
const MAX_REMEMBERED_RESULTS = 16;

/** What the host's file tools say instead of a content that the model has seen before. */
const UNCHANGED = /^\[File unchanged since last read\b/;

export interface Answer {
  /** Empty for none. */
  readonly say: string;
  readonly calls: readonly { readonly name: string; readonly args: string }[];
}

export interface Situation {
  readonly commands: Commands;
  readonly tools: ReadonlySet<string>;
  /** What the assistant said last, as far as it was heard. */
  readonly lastHeard: string | null;
  /** Calls are open. */
  readonly toolsRun: boolean;
}

export interface ToolOutcome {
  readonly name: string;
  readonly args: string;
  readonly output: string;
}

export const SILENT: Answer = { say: '', calls: [] };

export class Dialogue {
  readonly #prompts: CommandPrompts;
  readonly #locale: string;
  readonly #results = new Map<string, string>();
  #notUnderstood = 0;

  constructor(prompts: CommandPrompts, locale: string) {
    this.#prompts = prompts;
    this.#locale = locale;
  }

  /** @param text - what was recognised or typed; `null` when it was none of the phrases */
  answer(text: string | null, situation: Situation): Answer {
    const command = text === null ? null : situation.commands.match(text);
    if (!command) {
      this.#notUnderstood++;
      const prompt = this.#notUnderstood > 1 ? this.#prompts.unknownAgain : this.#prompts.unknown;
      return { say: this.#withExamples(prompt, situation), calls: [] };
    }
    this.#notUnderstood = 0;
    return this.#carryOut(command, situation);
  }

  /** What came back from the tools of one response. */
  report(outcomes: readonly ToolOutcome[]): Answer {
    const said = outcomes
      // Goodbye, and "okay", were said when they were called.
      .filter(({ name }) => name !== END_CALL && name !== STOP_WORKING)
      .map((outcome) => sayToolResult(this.#recall(outcome), this.#prompts, this.#locale));
    return { say: said.join(' '), calls: [] };
  }

  /**
   * Instructions are written for a model that can follow any; this one follows those it can: words in quotes
   * are said, else it says where things stand.
   */
  instructed(instructions: string, toolsRun: boolean): Answer {
    const quoted = /["“«]\s*([^"”»]{2,500}?)\s*["”»]/.exec(instructions)?.[1];
    const say = quoted ?? (toolsRun ? this.#prompts.working : this.#prompts.resume);
    return { say, calls: [] };
  }

  /** Notes of the system's, e.g. a result that came late: what stands behind the colon is read out. */
  noted(notes: readonly string[]): Answer {
    const said = notes.map((note) => {
      const content = /^[^:\n]{0,120}: ([\s\S]+)$/.exec(note)?.[1] ?? note;
      return sayToolResult(content, this.#prompts, this.#locale);
    });
    return { say: said.join(' '), calls: [] };
  }

  #carryOut({ meaning, slots }: Command, situation: Situation): Answer {
    switch (meaning.kind) {
      case 'reply':
        return { say: fillIn(meaning.text, slots), calls: [] };
      case 'tool': {
        const args = JSON.stringify(meaning.args, (_, value: unknown) =>
          typeof value === 'string' ? fillIn(value, slots) : value,
        );
        return { say: '', calls: [{ name: meaning.tool, args }] };
      }
      case 'action':
        return this.#act(meaning.action, situation);
      default:
        return meaning satisfies never;
    }
  }

  #act(action: Extract<PhraseMeaning, { kind: 'action' }>['action'], situation: Situation): Answer {
    const prompts = this.#prompts;
    switch (action) {
      case 'goodbye': {
        const calls = situation.tools.has(END_CALL) ? [{ name: END_CALL, args: '{}' }] : [];
        return { say: prompts.goodbye, calls };
      }
      case 'help':
        return { say: this.#withExamples(prompts.help, situation), calls: [] };
      case 'about':
        return { say: this.#withExamples(prompts.about, situation), calls: [] };
      case 'repeat':
        return { say: situation.lastHeard ?? prompts.nothingToRepeat, calls: [] };
      case 'stop': {
        const stops = situation.toolsRun && situation.tools.has(STOP_WORKING);
        return { say: prompts.okay, calls: stops ? [{ name: STOP_WORKING, args: '{}' }] : [] };
      }
      case 'greet':
        return { say: prompts.greeting, calls: [] };
      default:
        return action satisfies never;
    }
  }

  #withExamples(prompt: string, { commands }: Situation): string {
    const examples = sayList(commands.examples.slice(0, MAX_EXAMPLES), this.#prompts);
    return examples === '' ? this.#prompts.resume : fillIn(prompt, { examples });
  }

  /** The content behind an "unchanged", when it was ours to see. */
  #recall({ name, args, output }: ToolOutcome): string {
    const key = `${name} ${args}`;
    if (UNCHANGED.test(output)) return this.#results.get(key) ?? output;
    this.#results.delete(key);
    this.#results.set(key, output);
    const [oldest] = this.#results.keys();
    if (this.#results.size > MAX_REMEMBERED_RESULTS && oldest !== undefined) this.#results.delete(oldest);
    return output;
  }
}
