/**
 * Every bound that a stranger meets before anything about them is known.
 *
 * @module
 */

/** Longest request body. */
export const MAX_BODY_BYTES = 64 * 1024;
/** A body that isn't complete after this is given up. */
export const BODY_TIMEOUT_MS = 5000;
/** A request whose headers aren't complete after this is dropped (Slowloris). */
export const HEADERS_TIMEOUT_MS = 10_000;
/** A request that isn't complete after this is dropped. */
export const REQUEST_TIMEOUT_MS = 15_000;
/** An idle keep-alive connection is closed after this. */
export const KEEP_ALIVE_TIMEOUT_MS = 5000;
/** Largest header block. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** TCP connections beyond those of the calls that the config allows. */
export const SPARE_CONNECTIONS = 256;
/** Largest WebSocket message. */
export const MAX_SOCKET_MESSAGE_BYTES = 64 * 1024;
/** Media sockets that have not shown a right token yet, in all. */
export const MAX_UNAUTHENTICATED_SOCKETS = 64;
/** Media sockets that have not shown a right token yet, of one address (all of a reverse proxy's are one). */
export const MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS = 16;
/** How long a peer may take to answer our close before its socket is cut. */
export const SOCKET_CLOSE_TIMEOUT_MS = 5000;
/** Carriers stop waiting for the answer to a webhook after 15 s; a caller must hear something before. */
export const ADMIT_TIMEOUT_MS = 10_000;
/** How long a stream token can be used. */
export const STREAM_TOKEN_TTL_MS = 30_000;
/** Stream tokens that wait to be used. */
export const MAX_STREAM_TOKENS = 4096;
/** Calls whose webhook is remembered, so that a replay of it opens no second stream. */
export const MAX_ANSWERED_CALLS = 10_000;
/** Deadline of one readiness check. */
export const READY_CHECK_TIMEOUT_MS = 2000;
/** For this long the result of the readiness checks is used again. */
export const READY_CACHE_MS = 1000;
