/** Cuts results into pages, and says so the way nanobot does. */

export interface Page<T> {
  readonly items: readonly T[];
  /** Note for the end of the result, or `null`. */
  readonly note: string | null;
}

/** @param limit - most items; `null` for all */
export function page<T>(all: readonly T[], limit: number | null, offset: number): Page<T> {
  const items = limit === null ? all.slice(offset) : all.slice(offset, offset + limit);
  if (limit !== null && all.length > offset + limit) {
    return { items, note: `(pagination: limit=${limit}, offset=${offset})` };
  }
  return { items, note: offset > 0 ? `(pagination: offset=${offset})` : null };
}
