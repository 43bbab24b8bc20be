import type { CallDesk, CallerInfo } from '../call/index.ts';

export type { CallerInfo };

/** What the server needs of the call engine. */
export type Desk = Pick<
  CallDesk,
  | 'admit'
  | 'attach'
  | 'call'
  | 'isLive'
  | 'brokeOff'
  | 'carrierEnded'
  | 'activeCalls'
  | 'pendingCalls'
  | 'drain'
>;
