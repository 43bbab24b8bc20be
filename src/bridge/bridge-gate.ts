/**
 * The approval gate of a channel in another agent's hands: asked for by its config at the start, or put up by an edit of
 * it while calls go on. What an edit tightens holds at once, what it loosens waits.
 *
 * @module
 */

import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import {
  type ApprovalSystem,
  createApprovals,
  createLateGate,
  type PolicyKeeper,
} from '../approval/index.ts';
import { CHANNEL_NAME } from '../channel/index.ts';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import type { ToolGateConfig } from '../config-approvals.ts';
import { VoiceError } from '../errors.ts';
import type { ToolGate } from '../gateway/index.ts';
import type { ToolAccess } from '../gateway/remote/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';
import type { HostLink } from './host-link.ts';
import type { JoinedGateway } from './joined-gateway.ts';

/** Tools of nanobot's that set its agent to work, which runs other tools out of our sight. */
export const AGENT_TOOLS: ReadonlySet<string> = new Set([
  'spawn',
  'cron',
  'create_goal',
  'update_goal',
  'send_session_message',
  'long_task',
]);

export interface BridgeGateOptions {
  readonly config: RealtimeConfig;
  readonly toolAccess: ToolAccess;
  readonly store: FullStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDirectory: string;
  /** Our own address, for links in cards. */
  readonly publicBase: () => string | null;
}

/** What became of an edit of the section. */
export interface EditAnswer {
  /** Whether the host has to ask `gate/check` from now on. */
  readonly gate: boolean;
  /** `waiting`: what loosens waits for the operator or a restart. `broken`: it can't be read, the last good one holds. */
  readonly approvals: 'inForce' | 'waiting' | 'broken';
  /** Something else was edited, too: that takes effect when the channel is started anew. */
  readonly restart: boolean;
}

export class BridgeGate {
  /** `null` when the config had no gate at the start. */
  readonly approvals: ApprovalSystem | null;
  readonly gate: ToolGate;
  readonly #options: BridgeGateOptions;
  readonly #keeper: PolicyKeeper;
  /** An edit that was not looked at yet, or why it could not be read. */
  #edit: ToolGateConfig | Error | null = null;

  /** @throws VoiceError `CONFIG_INVALID` */
  constructor(options: BridgeGateOptions) {
    const { config, toolAccess, ...parts } = options;
    this.#options = options;
    const reload = async () => {
      const edit = this.#edit;
      this.#edit = null;
      if (edit instanceof Error) throw edit;
      return edit;
    };
    this.approvals = createApprovals({
      ...parts,
      config: config.approvals,
      locale: config.locale,
      toolTimeoutMs: config.limits.toolTimeoutS * 1000,
      executor: config.store.engine === 'sqlite' ? 'local' : hostname(),
      reload,
    });
    if (this.approvals) {
      this.gate = this.approvals.gate;
      this.#keeper = this.approvals.policy;
    } else {
      const { clock, logger } = parts;
      const late = createLateGate({ config: config.approvals, clock, logger, reload });
      this.gate = late.gate;
      this.#keeper = late.keeper;
    }
  }

  /** Whether there is a gate at all, since the start or since an edit. */
  get isOn(): boolean {
    return this.approvals !== null || this.#keeper.current.enabled;
  }

  /** Whether the host asks the gate from within its tools; otherwise it is asked here, for calls alone. */
  get isHostAsked(): boolean {
    return this.#options.toolAccess.gate && this.isOn;
  }

  /** Whether the agent would walk around the gate: then calls can't set it to work. */
  get closesAgentTools(): boolean {
    const { toolAccess, config } = this.#options;
    return this.isOn && !toolAccess.gate && config.approvals.scope !== 'voiceOnly';
  }

  /** Answers `/approve` and `/deny`; nobody can decide about a gate that came late. */
  isCommand(content: string): boolean {
    return this.approvals?.isCommand(content) ?? false;
  }

  async command(message: Parameters<ApprovalSystem['command']>[0]): Promise<string | null> {
    return this.approvals?.command(message) ?? null;
  }

  /**
   * Takes the section as it is now.
   *
   * @param read - gives the section, read; throws when it can't be
   */
  async edited(read: () => RealtimeConfig): Promise<EditAnswer> {
    let restart = false;
    try {
      const section = read();
      this.#edit = section.approvals.toolGate;
      restart = !isDeepStrictEqual(withoutGate(section), withoutGate(this.#options.config));
    } catch (error) {
      this.#edit = error instanceof Error ? error : new VoiceError('CONFIG_INVALID', 'It can not be read.');
    }
    await this.#keeper.look();
    const { isBroken, isWaiting } = this.#keeper;
    const isLate = this.approvals === null && this.isOn;
    return {
      gate: this.isHostAsked,
      approvals: isBroken ? 'broken' : isWaiting ? 'waiting' : 'inForce',
      // Behind a gate that came late nobody can be asked.
      restart: restart || isLate,
    };
  }

  /** Lets approved calls run, and cards go out by the host's other channels. */
  async start(tools: JoinedGateway, link: HostLink): Promise<void> {
    const { publicBase, toolAccess, logger } = this.#options;
    await this.approvals?.start({
      gateway: { executeTool: (...call) => tools.executeApproved(...call) },
      message({ channel, chatId }, content) {
        // A chat of the voice channel is a call; nobody reads messages there.
        if (channel === CHANNEL_NAME) return false;
        const shown = withLink(content, publicBase(), toolAccess.gate);
        link
          .send({ channel, chatId, content: shown, media: [], metadata: {} })
          .catch(() => logger.warn('the host took no message of the approvals'));
        return true;
      },
    });
  }

  async close(): Promise<void> {
    this.#keeper.close();
    await this.approvals?.close();
  }
}

const withoutGate = ({ approvals, ...rest }: RealtimeConfig) => ({
  ...rest,
  approvals: { ...approvals, toolGate: null },
});

/** A line that tells how to decide by a message. */
const COMMANDS = /^\/approve .*$/m;

/**
 * A card with a link to the page where it can be decided. Where the host asks no gate it knows no `/approve` either, and
 * would answer that it does not.
 */
function withLink(text: string, base: string | null, hasCommands: boolean): string {
  if (base === null || !COMMANDS.test(text)) return text;
  const link = `${base}/operator`;
  return hasCommands ? `${text}\n${link}` : text.replace(COMMANDS, link);
}
