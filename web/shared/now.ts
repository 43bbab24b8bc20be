/**
 * The time, for what counts: one timer for everything on the page.
 *
 * @module
 */

import { signal } from '@preact/signals';

/** Ms since 1970, once a second. */
export const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 1000);
