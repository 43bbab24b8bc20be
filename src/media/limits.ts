/**
 * Every bound of media replies.
 *
 * @module
 */

/** Smallest and largest attachment, in bytes. */
export const MIN_ATTACHMENT_BYTES = 1;
export const MAX_ATTACHMENT_BYTES = 64 * 1024 * 1024;
/** An attachment is kept no longer. */
export const MAX_RETENTION_MS = 24 * 3600 * 1000;
/** Longest name of an attachment, in characters. */
export const MAX_NAME_CHARS = 120;
/** Longest caption, and longest fallback text, in characters. */
export const MAX_CAPTION_CHARS = 500;
export const MAX_FALLBACK_CHARS = 1000;
/** Sessions with media whose authorization is kept in memory; the rest is read from the store. */
export const MAX_OPEN_SESSIONS = 10_000;

/** Attempts that reached somebody and failed; then the next way, or the end. */
export const MAX_DELIVERY_ATTEMPTS = 6;
/** Deliveries that one worker has under way. */
export const MAX_DELIVERIES_AT_ONCE = 8;
/** A delivery holds its row for so long; whoever takes longer is asked about. */
export const LEASE_MS = 60_000;
/** One attempt is given up after this, well within its lease. */
export const SEND_TIMEOUT_MS = 20_000;
/** What another node has not taken for so long is taken from it, where the route is open here. */
export const TAKE_OVER_AFTER_MS = 60_000;
/** A provider's word about a message that we are just writing down is asked about again, so often and so far apart. */
export const RECEIPT_TRIES = 5;
export const RECEIPT_RETRY_MS = 1000;
/** Wait after the first failure; doubles up to the bound. */
export const BACKOFF_BASE_MS = 2000;
export const BACKOFF_MAX_MS = 5 * 60_000;
/** A page gets this long to say that it shows what it was sent. */
export const RECEIPT_TIMEOUT_MS = 10_000;
/** A page that is not there is looked for again after this; it wakes its deliveries when it comes. */
export const PAGE_WAIT_MS = 60_000;
/** What a provider does not list this long after the attempt, it never accepted. */
export const RECONCILE_SETTLE_MS = 120_000;

/** Pages connected at once. */
export const MAX_PAGES = 1000;
/** Deliveries that a page may name as shown. */
export const MAX_SHOWN = 200;

/** A page's link is good for this long. */
export const PAGE_LINK_MS = 5 * 60_000;
/** The carrier fetches an MMS's picture within this. */
export const CARRIER_LINK_MS = 60 * 60_000;
/** Times a link in an SMS may be opened. */
export const MAX_LINK_OPENS = 3;
/** Files that are read and checked at once for serving. */
export const MAX_FILES_SERVED = 4;
