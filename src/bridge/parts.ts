/**
 * What the command line lends the bridge: the parts that know of configs, files and the embedded host's tools.
 *
 * @module
 */

import type { ChannelParts } from '../channel/index.ts';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import type { ToolGate, ToolGateway } from '../gateway/index.ts';
import type { Media, ChannelMessage as MediaMessage } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';

export interface BridgeParts {
  readonly version: string;
  readonly clock: Clock;
  readonly createLogger: (level: string) => Logger;
  /** @throws VoiceError `CONFIG_INVALID` */
  readonly parseConfig: (section: Readonly<Record<string, unknown>>) => RealtimeConfig;
  /** @throws VoiceError `STORE_*`, `CONFIG_INVALID` */
  readonly openStore: (config: RealtimeConfig, dataDirectory: string) => Promise<FullStore>;
  /** Media and the tools that make them; `null` when the config lists none. */
  readonly openMedia: (options: {
    readonly config: RealtimeConfig;
    readonly store: FullStore;
    readonly logger: Logger;
    readonly dataDirectory: string;
    readonly workspace: string;
    readonly gate: ToolGate | null;
    readonly publish: (message: MediaMessage) => Promise<void>;
  }) => Promise<{ readonly media: Media; readonly tools: ToolGateway } | null>;
  /** Takes the code of what went wrong while stopping. */
  readonly onError: (code: string) => void;
  /** Further parts of the channel; for tests. */
  readonly channelParts?: Partial<ChannelParts>;
}
