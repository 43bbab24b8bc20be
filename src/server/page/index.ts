export { MAX_COUNTED_ADDRESSES } from './address-rate.ts';
export { GUEST_CODE, MAX_GUEST_LINKS, MAX_NOTE_CHARS } from './guest-links.ts';
export { MAX_WRONG_CODES, MAX_WRONG_CODES_PER_ADDRESS } from './page-access.ts';
export { GUEST } from './page-approvals.ts';
export {
  MAX_CALL_REQUESTS,
  MAX_CALL_REQUESTS_PER_ADDRESS,
  MAX_GUEST_CALLS,
  MAX_OWNER_CALLS,
} from './page-calls.ts';
export { FALLBACK_AFTER_MS } from './page-routes.ts';
export { MAX_PAGE_SESSIONS, PAGE_SESSION_MS } from './page-sessions.ts';
export { PAGE_SOCKET_PATH, type PageSockets } from './page-sockets.ts';
export { createPageParts, type PageParts, type PagePartsOptions } from './parts.ts';
export { staticPages, WEB_DIST } from './static-pages.ts';
