/**
 * Everything about approvals, put together: one object for the host's loop (`gate`), the calls (`inline`), the server and
 * the command line (`approvals`).
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import { type ApprovalsConfig, isGateOn, type ToolGateConfig } from '../config-approvals.ts';
import { isVoiceError } from '../errors.ts';
import type { ToolGate, ToolGateway } from '../gateway/index.ts';
import type { Logger } from '../observe/index.ts';
import { createRecogniser, type Recogniser } from '../speech/index.ts';
import type { ApprovalRow, ApprovalStore } from '../store/index.ts';
import { Approvals } from './approvals.ts';
import { type BusSender, findApproval, runBusCommand } from './bus-commands.ts';
import { CardSender, type SendCard } from './cards/card-sender.ts';
import { HOOK_MEMORY_MS, HookMemory } from './cards/hook-memory.ts';
import { type Destinations, OutcomeDelivery } from './delivery.ts';
import { ChangeFollower } from './follower.ts';
import { ApprovalGate } from './gate.ts';
import { InlineApprovals } from './inline/inline-approvals.ts';
import { PIN_WINDOW_MS } from './inline/pins.ts';
import { SPOKEN_ANSWER_LOCALES } from './inline/proven-locales.ts';
import { loadWording } from './inline/wording.ts';
import { LateGate } from './late-gate.ts';
import { PendingMirror } from './mirror.ts';
import { approvalsAreOff } from './policy.ts';
import { PolicyKeeper } from './policy-keeper.ts';
import { ReplayWorker } from './replay-worker.ts';
import { trackedStore } from './tracked-store.ts';

/** How often what is too late is looked for. */
export const SWEEP_EVERY_MS = 5000;
/** How often old PIN tries and messages are forgotten. */
const GUARD_SWEEP_EVERY_MS = 60_000;

export interface ApprovalSystemOptions {
  readonly config: ApprovalsConfig;
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder for the mirror; `null` keeps none. */
  readonly dataDirectory: string | null;
  readonly locale: string;
  readonly toolTimeoutMs: number;
  /** Names this process among those that share the store; stays the same over its restarts. */
  readonly executor: string;
  /** Whose runs are looked for after a crash, with those of its workers. @defaultValue `executor` */
  readonly recovers?: string;
  /** Reads the gate's section anew after an edit of the file; `null` when nothing changed. */
  readonly reload?: () => Promise<ToolGateConfig | null>;
  /** The host's shell has no sandbox: beside a gate it is denied unless `unsafe` is written. @defaultValue false */
  readonly holdsShell?: boolean;
  /** Base of our own address, for links and buttons in cards. */
  readonly publicBase?: () => string | null;
  /** Sends a card to a chat service; for tests. @defaultValue fetch */
  readonly sendCard?: SendCard;
  /** Not used where speech never decides. @defaultValue our own, where speech may decide in the locale */
  readonly recogniser?: Recogniser | null;
  /** Draws digits; for tests. */
  readonly random?: (below: number) => number;
}

/** What the host lends once it is there. */
export interface HostParts {
  readonly gateway: Pick<ToolGateway, 'executeTool'>;
  /** Sends a message to a chat of another channel; `false` when it can't be. */
  readonly message: Destinations['message'];
}

export class ApprovalSystem {
  readonly approvals: Approvals;
  readonly inline: InlineApprovals;
  readonly gate: ToolGate;
  readonly policy: PolicyKeeper;
  readonly hookMemory: HookMemory;
  readonly #options: ApprovalSystemOptions;
  readonly #recogniser: Recogniser | null;
  readonly #ownsRecogniser: boolean;
  readonly #mirror: PendingMirror | null;
  readonly #cards: CardSender;
  readonly #follower: ChangeFollower;
  #worker: ReplayWorker | null = null;
  #delivery: OutcomeDelivery | null = null;
  #host: HostParts | null = null;
  #sweeper: ClockTimer | null = null;
  #guardsSweptAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | null = null;
  #closed = false;

  /** @throws VoiceError `CONFIG_INVALID` for a locale without prompts */
  constructor(options: ApprovalSystemOptions) {
    this.#options = options;
    const { config, clock, logger, locale, dataDirectory } = options;
    const store = trackedStore(options.store, clock);
    this.policy = new PolicyKeeper({
      initial: config.toolGate,
      clock,
      logger,
      ...(options.reload ? { reload: options.reload } : {}),
      holdsShell: options.holdsShell ?? false,
    });
    const policy = () => this.policy.current;
    this.approvals = new Approvals({ store, clock, logger, policy });
    this.hookMemory = new HookMemory(store, clock);
    const canHear = SPOKEN_ANSWER_LOCALES.includes(locale);
    this.#ownsRecogniser = canHear && options.recogniser === undefined;
    this.#recogniser = this.#ownsRecogniser
      ? createRecogniser({ locale })
      : canHear
        ? (options.recogniser ?? null)
        : null;
    this.inline = new InlineApprovals({
      approvals: this.approvals,
      policy,
      clock,
      logger,
      wording: loadWording(locale),
      locale,
      recogniser: this.#recogniser,
      onAttached: (sessionKey) => void this.#delivery?.catchUp(sessionKey),
      ...(options.random ? { random: options.random } : {}),
    });
    this.gate = new ApprovalGate({
      approvals: this.approvals,
      live: this.inline,
      policy,
      off: approvalsAreOff(config),
      clock,
      logger,
    });
    this.#mirror = dataDirectory === null ? null : new PendingMirror(dataDirectory, logger);
    this.#cards = new CardSender({
      clock,
      logger,
      policy,
      publicBase: options.publicBase ?? (() => null),
      ...(options.sendCard ? { send: options.sendCard } : {}),
      message: (to, text) => this.#host?.message(to, text) ?? false,
    });
    this.approvals.on('changed', (record) => {
      this.#mirror?.follow(record);
      this.#cards.follow(record);
    });
    this.approvals.on('changedElsewhere', (record) => {
      this.#mirror?.follow(record);
      // Whoever asked sent the card; here it is only forgotten when it is over.
      if (record.status !== 'pending') this.#cards.follow(record);
    });
    this.#follower = new ChangeFollower({
      store,
      clock,
      logger,
      onChange: (record) => this.approvals.follow(record),
    });
  }

  /** Repairs what a crash left, then runs what is approved and tells what is owed. */
  async start(host: HostParts): Promise<void> {
    const { clock, logger, executor, recovers = executor, toolTimeoutMs } = this.#options;
    this.#host = host;
    this.#delivery = new OutcomeDelivery(
      this.approvals,
      {
        tell: (whose, text) => this.inline.tell(whose, text),
        isLive: (whose) => this.inline.isLive(whose),
        message: host.message,
      },
      () => clock.wallNow(),
      logger,
    );
    this.#worker = new ReplayWorker({
      approvals: this.approvals,
      gateway: host.gateway,
      policy: () => this.policy.current,
      clock,
      logger,
      executor,
      recovers,
      toolTimeoutMs,
    });
    const lost = await this.#worker.recover();
    if (lost > 0)
      logger.warn({ lost }, 'approved calls were running when the process ended; their outcome is unknown');
    await this.approvals.sweep();
    await this.#follower.start();
    const live = await this.approvals.store.listApprovals({
      status: ['pending', 'approved', 'executing'],
      limit: 1000,
    });
    await this.#mirror?.sync(live);
    await this.#worker.start();
    this.policy.start();
    this.#armSweeper();
  }

  /** The answer to a message that is a decision; `null` when it is for the agent. */
  command(message: BusSender): Promise<string | null> {
    return runBusCommand(message, this.approvals, this.policy.current.config);
  }

  /** Whether a message is a decision and not for the agent. Costs nothing for any other. */
  isCommand(content: string): boolean {
    return /^\s*\/(approve|deny)(\s|@|$)/.test(content);
  }

  /** A record by its id or the beginning of it. */
  find(id: string): Promise<ApprovalRow | null> {
    return findApproval(this.approvals.store, id);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed = true;
    this.#sweeper?.clear();
    this.policy.close();
    await this.#follower.close();
    await this.#worker?.close();
    this.#delivery?.close();
    this.#cards.close();
    await this.#mirror?.idle();
    this.approvals.removeAllListeners();
    if (this.#ownsRecogniser) await this.#recogniser?.close();
  }

  #armSweeper(): void {
    if (this.#closed) return;
    this.#sweeper = this.#options.clock.setTimeout(() => {
      void this.#sweep().finally(() => this.#armSweeper());
    }, SWEEP_EVERY_MS);
  }

  async #sweep(): Promise<void> {
    try {
      await this.approvals.sweep();
      await this.#worker?.poll();
      await this.#sweepGuards();
    } catch (error) {
      const code = isVoiceError(error) ? error.code : null;
      this.#options.logger.warn({ code }, 'approvals could not be swept');
    }
  }

  async #sweepGuards(): Promise<void> {
    const now = this.#options.clock.wallNow();
    if (now - this.#guardsSweptAt < GUARD_SWEEP_EVERY_MS) return;
    this.#guardsSweptAt = now;
    await this.approvals.store.sweepGuards({
      pinTries: now - PIN_WINDOW_MS,
      messages: now - HOOK_MEMORY_MS,
    });
  }
}

/** The system, or `null` when no gate is configured: then nothing of it is made and nothing of it runs. */
export function createApprovals(options: ApprovalSystemOptions): ApprovalSystem | null {
  return isGateOn(options.config.toolGate) ? new ApprovalSystem(options) : null;
}

/** Where no gate is configured: what an edit of the config designates later is held back until a restart. */
export function createLateGate({
  config,
  ...options
}: Pick<ApprovalSystemOptions, 'config' | 'clock' | 'logger' | 'reload'>): {
  readonly gate: ToolGate;
  readonly keeper: PolicyKeeper;
} {
  const keeper = new PolicyKeeper({ ...options, initial: config.toolGate, holdsShell: true });
  return { gate: new LateGate(keeper, approvalsAreOff(config)), keeper };
}
