/** How long a server may take to start and to name its tools. */
export const MCP_START_TIMEOUT_MS = 30_000;
/** Waits before a server is started again; the last one counts for every further start. */
export const MCP_RESTART_DELAYS_MS: readonly number[] = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000];
/** Up for this long, a server's next start is its first again. */
export const MCP_STABLE_MS = 30_000;
/** Tools of one server. */
export const MAX_TOOLS_PER_SERVER = 128;
