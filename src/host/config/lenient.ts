/**
 * Reading keys that belong to nanobot: both spellings, and never an error; a value of the wrong kind counts as not
 * given and leaves a note.
 *
 * @module
 */

const snakeCase = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export class LenientSection {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #notes: string[];

  /** @param notes - takes one line for each value that is passed over */
  constructor(value: unknown, path: string, notes: string[]) {
    this.#path = path;
    this.#notes = notes;
    this.#value = {};
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      this.#value = value as Readonly<Record<string, unknown>>;
    } else if (value !== undefined && value !== null) {
      notes.push(`${path}: is not an object; passed over`);
    }
  }

  get keys(): string[] {
    return Object.keys(this.#value);
  }

  section(key: string): LenientSection {
    return new LenientSection(this.raw(key), this.#pathOf(key), this.#notes);
  }

  /** The value under the camelCase key or its snake_case spelling. */
  raw(key: string): unknown {
    if (Object.hasOwn(this.#value, key)) return this.#value[key];
    const snake = snakeCase(key);
    return Object.hasOwn(this.#value, snake) ? this.#value[snake] : undefined;
  }

  text(key: string): string | null {
    return this.#read(key, 'text', (value) => (typeof value === 'string' ? value : null));
  }

  flag(key: string): boolean | null {
    return this.#read(key, 'true or false', (value) => (typeof value === 'boolean' ? value : null));
  }

  number(key: string, min: number, max: number): number | null {
    return this.#read(key, `a number from ${min} to ${max}`, (value) =>
      typeof value === 'number' && value >= min && value <= max ? value : null,
    );
  }

  texts(key: string): readonly string[] | null {
    return this.#read(key, 'a list of text', (value) =>
      Array.isArray(value) && value.every((item) => typeof item === 'string') ? (value as string[]) : null,
    );
  }

  /** A map of the user's own names to text. */
  textMap(key: string): Readonly<Record<string, string>> | null {
    return this.#read(key, 'an object of text', (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((item) => typeof item === 'string')
        ? (value as Record<string, string>)
        : null,
    );
  }

  #pathOf(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  #read<T>(key: string, wanted: string, parse: (value: unknown) => T | null): T | null {
    const value = this.raw(key);
    if (value === undefined || value === null) return null;
    const parsed = parse(value);
    if (parsed === null) this.#notes.push(`${this.#pathOf(key)}: is not ${wanted}; passed over`);
    return parsed;
  }
}
