/** Cuts results into pages, and says so the way nanobot does. */

export interface Page<T> {
  readonly items: readonly T[];
  /** Note for the end of the result, or `null`. */
  readonly note: string | null;
}

/**
 * @param limit - most items; `null` for all
 * @param saysHow - whether the note says how to go on, as that of matches does
 */
export function page<T>(all: readonly T[], limit: number | null, offset: number, saysHow = false): Page<T> {
  const items = limit === null ? all.slice(offset) : all.slice(offset, offset + limit);
  if (limit !== null && all.length > offset + limit) {
    const how = saysHow ? `; use offset=${offset + items.length} to continue` : '';
    return { items, note: `(pagination: limit=${limit}, offset=${offset}${how})` };
  }
  return { items, note: offset > 0 ? `(pagination: offset=${offset})` : null };
}
