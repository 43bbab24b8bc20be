/**
 * What a call is made of: its parts are handed in, so that the same engine runs on real parts, on doubles and on
 * virtual time.
 *
 * @module
 */

import type { InlineApprovals } from '../approval/index.ts';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import type { AgentDelegate, ToolGateway } from '../gateway/index.ts';
import type { LegCapabilities } from '../leg/index.ts';
import type { Media } from '../media/index.ts';
import type { HistoryItem, RealtimeModelFactory } from '../model/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Synthesiser, VoiceActivityDetector } from '../speech/index.ts';
import type { Store } from '../store/index.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import type { CallerIdentity } from './caller.ts';
import type { CallPrompts } from './prompts.ts';
import type { ToolPolicy } from './tools.ts';

/** A verified incoming call, as the server hands it over. */
export interface CallerInfo {
  readonly identity: CallerIdentity;
  /** What was called, or an empty string. */
  readonly route: string;
  readonly carrier: string;
  /** The carrier's own id of the call. */
  readonly carrierCallId: string;
  /** Capabilities of the leg that will be attached. */
  readonly leg: LegCapabilities;
  /** Ends the call at the carrier, where that can be done without a leg. */
  readonly hangUp?: () => Promise<void>;
  /** The call that this one goes on from, because the process that had it is gone. */
  readonly continues?: CallPast;
}

/** What is left of a call that broke off with its process. */
export interface CallPast {
  readonly sessionKey: string;
}

/** What a tool gave that had outlived its call. */
export interface LateResult {
  readonly sessionKey: string;
  readonly chatId: string;
  readonly name: string;
  /** Whole, not cut. */
  readonly output: string;
  readonly isError: boolean;
}

/** What a call needs of media. */
export type CallMedia = Pick<Media, 'openCall' | 'closeCall' | 'uses' | 'isMediaTool' | 'visible'>;

/** Parts shared by every call. */
export interface CallParts {
  readonly config: RealtimeConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly models: RealtimeModelFactory;
  readonly synthesiser: Synthesiser;
  readonly store: Store;
  readonly prompts: CallPrompts;
  /** The channel's name towards the gateway. */
  readonly channel: string;
  /** Asked for each new call, with the caller's id or an empty text, beside the config's own rules. */
  readonly admits?: (senderId: string) => Promise<boolean>;
  /** `null`: no host is wired, and the agent has no tools on this call. */
  readonly gateway: ToolGateway | null;
  /** The host's text agent, for `ask_agent`; without it the voice model has the tools themselves. */
  readonly delegate?: AgentDelegate | null;
  /**
   * Told, as it comes, of the result of a tool whose policy is `deliver` and that outlived its call. It is in the store
   * as well, as a turn of the caller's session.
   */
  readonly deliverLate?: (late: LateResult) => void;
  /** Hears voices, where `interruption.localDetector` wants it; our own when left out. */
  readonly createDetector?: () => VoiceActivityDetector;
  /** Asks the person on the line to approve tools; without it nothing is asked. */
  readonly approvals?: Pick<InlineApprovals, 'attach'> | null;
  /** Pictures and files for the caller; without it there are none. */
  readonly media?: CallMedia | null;
  /** Who the agent is. */
  readonly persona: string;
  readonly toolPolicy: (name: string) => ToolPolicy;
  /** What the session held before: rows of earlier calls and of text turns, oldest first. */
  readonly history: (sessionKey: string) => Promise<readonly HistoryItem[]>;
  /** Folder for recordings; `null` keeps none. */
  readonly recordingDirectory: string | null;
  /** One worker of several: it names its calls, and the bound of calls is that of all workers. */
  readonly slot?: Pick<WorkerSlot, 'index' | 'lines'> | null;
  /** A turn of this session is complete in the store. */
  readonly onTurnFinal?: (sessionKey: string) => void;
}

export interface CallOptions {
  readonly id: string;
  readonly info: CallerInfo;
  readonly chatId: string;
  readonly sessionKey: string;
  readonly history: readonly HistoryItem[];
  readonly parts: CallParts;
}
