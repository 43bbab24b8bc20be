import type { LegCapabilities } from '../contract.ts';
import { PAGE_SOCKET_CAPABILITIES } from '../page/index.ts';

/**
 * Opus on the wire; the call sees what most models speak, so that nothing is resampled. The very same as over the page's
 * WebSocket: a page may come back by the other way.
 */
export const WEBRTC_CAPABILITIES: LegCapabilities = PAGE_SOCKET_CAPABILITIES;
