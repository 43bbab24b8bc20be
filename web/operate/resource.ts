/**
 * Something of the gateway's on the screen: read when it is shown, and again while it is.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks';
import type { z } from 'zod';
import { ApiError, get } from '../shared/api.ts';

export interface Resource<T> {
  readonly value: T | null;
  readonly error: string | null;
  /** Reads it anew; `change` shows something at once. */
  reload(change?: (value: T) => T): void;
}

/** @param everyMs - while the page can be seen; 0: only when asked */
export function useResource<T>(path: string, schema: z.ZodType<T>, everyMs = 0): Resource<T> {
  const [state, setState] = useState<{ path: string; value: T | null; error: string | null }>({
    path,
    value: null,
    error: null,
  });
  const load = async () => {
    try {
      const value = await get(path, schema);
      setState({ path, value, error: null });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) location.reload();
      const text = error instanceof ApiError ? error.message : 'It did not work.';
      setState((before) => ({ path, value: before.path === path ? before.value : null, error: text }));
    }
  };
  useEffect(() => {
    void load();
    if (everyMs === 0) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void load();
    }, everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  return {
    value: state.path === path ? state.value : null,
    error: state.error,
    reload(change) {
      if (change)
        setState((before) => ({ ...before, value: before.value === null ? null : change(before.value) }));
      void load();
    },
  };
}
