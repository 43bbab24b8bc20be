export { MediaFiles } from './media-files.ts';
export { MAX_PAGE_MESSAGES, MEDIA_LIVE_PATH, MediaLive, PAGE_PING_MS } from './media-live.ts';
export { pageCookie, pageSessionOf } from './page-session.ts';
