/**
 * Where a reply may go, decided by the server from what is known of the call; the model has no say in it.
 *
 * @module
 */

import type { MediaConfig } from '../config-media.ts';
import type { CallMediaRow, ReplyRoute, ReplyTarget } from '../store/index.ts';
import type { AttachmentRef } from './attachments.ts';

/** What is known of a call that may send media. */
export interface MediaCaller {
  readonly callId: string;
  readonly sessionKey: string;
  readonly strength: 'none' | 'claimed' | 'attested' | 'authenticated';
  /** Number or login; `null` when withheld. */
  readonly id: string | null;
  /** The caller looks at a page of ours. */
  readonly hasPage: boolean;
}

export interface OpenRoutes {
  /** MMS and SMS can be sent, and their links be reached from outside. */
  readonly messaging: boolean;
  /** The host takes messages for its other channels. */
  readonly channels: boolean;
}

const NUMBER = /^\+[1-9]\d{6,14}$/;
const MMS_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif']);

/** Every route that is open to a call, best first; the spoken fallback always is the last. */
export function targetsOf(caller: MediaCaller, config: MediaConfig, open: OpenRoutes): ReplyTarget[] {
  const { callId, id, strength, hasPage } = caller;
  const targets: ReplyTarget[] = [];
  const add = (route: ReplyRoute, address: string) => targets.push({ route, address });
  // Anyone can claim a number: pictures meant for its owner would go to whoever is named.
  const isVouchedFor = strength === 'attested' || strength === 'authenticated';
  if (hasPage) add('page', callId);
  if (open.channels && isVouchedFor) {
    for (const { person, channel, chatId } of config.chats)
      if (person === id) add('channel', `${channel}:${chatId}`);
  }
  if (open.messaging && isVouchedFor && id !== null && NUMBER.test(id) && hasConsent(id, config)) {
    const { mmsPrefixes, smsPrefixes } = config.messaging;
    if (mmsPrefixes.some((prefix) => id.startsWith(prefix))) add('mms', id);
    if (smsPrefixes.some((prefix) => id.startsWith(prefix))) add('sms', id);
  }
  add('spoken', callId);
  return targets;
}

/** The first route that can carry the attachment. */
export function chooseTarget(
  call: Pick<CallMediaRow, 'callId' | 'targets'>,
  attachment: Pick<AttachmentRef, 'mime' | 'size'>,
  mmsMaxBytes: number,
): ReplyTarget {
  return (
    call.targets.find((target) => canCarry(target.route, attachment, mmsMaxBytes)) ?? {
      route: 'spoken',
      address: call.callId,
    }
  );
}

/** The next route after one that failed for good; `null` when that was the last. */
export function nextTarget(call: Pick<CallMediaRow, 'targets'>, after: ReplyRoute): ReplyTarget | null {
  const at = call.targets.findLastIndex(({ route }) => route === after);
  return at < 0 ? null : (call.targets[at + 1] ?? null);
}

function hasConsent(number: string, { consent }: MediaConfig): boolean {
  return consent.includes('*') || consent.includes(number);
}

function canCarry(route: ReplyRoute, { mime, size }: { mime: string; size: number }, mmsMaxBytes: number) {
  return route !== 'mms' || (MMS_TYPES.has(mime) && size <= mmsMaxBytes);
}
