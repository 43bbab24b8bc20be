/** `${VAR}` in the values of a config, as nanobot has it; keys are left alone. */

/** A dotted path into the config, e.g. `channels.realtime.model.apiKey`. */
export type ConfigPath = readonly (string | number)[];

export const showPath = (path: ConfigPath): string => path.map((key) => (key === '' ? '""' : key)).join('.');

export interface Expansion {
  readonly value: unknown;
  /** Where a variable was put in: such a value is never shown. */
  readonly expanded: ReadonlySet<string>;
  /** Variables that are not set, and where they were asked for. */
  readonly missing: readonly { readonly path: ConfigPath; readonly name: string }[];
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** A value whose variable is not set is left out (an object's key) or empty (a list's item). */
export function expandVariables(
  value: unknown,
  env: Readonly<Record<string, string | undefined>>,
): Expansion {
  const expanded = new Set<string>();
  const missing: { path: ConfigPath; name: string }[] = [];

  const text = (source: string, path: ConfigPath): string | undefined => {
    const names = [...source.matchAll(VARIABLE)].map((match) => match[1] ?? '');
    if (names.length === 0) return source;
    expanded.add(showPath(path));
    const unset = names.filter((name) => env[name] === undefined);
    missing.push(...unset.map((name) => ({ path, name })));
    if (unset.length > 0) return undefined;
    return source.replaceAll(VARIABLE, (_whole, name: string) => env[name] ?? '');
  };

  const walk = (each: unknown, path: ConfigPath): unknown => {
    if (typeof each === 'string') return text(each, path);
    if (Array.isArray(each)) return each.map((item, index) => walk(item, [...path, index]) ?? '');
    if (typeof each !== 'object' || each === null) return each;
    const entries = Object.entries(each).map(([key, item]) => [key, walk(item, [...path, key])] as const);
    // Plain definition, so that a key called `__proto__` stays a key.
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  };

  return { value: walk(value, []), expanded, missing };
}
