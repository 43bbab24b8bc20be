/**
 * What the parts of one call share: the cores that decide, the parts that act, and the way from each to the others.
 *
 * @module
 */

import { frameTicker } from '../audio/index.ts';
import type { CallEndReason } from '../store/index.ts';
import { CallApprovalFloor } from './approval-floor.ts';
import { CallTools } from './call-tools.ts';
import { CallerLine } from './caller-line.ts';
import { Hangup, SilenceWatch } from './hangup.ts';
import { Hearing } from './hearing.ts';
import { Interruptions } from './interruptions.ts';
import { ConversationMemory } from './memory.ts';
import { ModelLink } from './model-link.ts';
import { ModelSide } from './model-side.ts';
import { CallNotes } from './notes.ts';
import type { CallOptions } from './options.ts';
import { Output } from './output.ts';
import type { CallProgress } from './progress.ts';
import { Quiet } from './quiet.ts';
import { Recording } from './recording.ts';
import { Requests } from './requests.ts';
import { sessionConfig } from './session-config.ts';
import { SpokenWords } from './transcript.ts';
import { TurnLog } from './turn-log.ts';
import { Floor } from './turns.ts';
import { Verbatim } from './verbatim.ts';

export interface CallActions {
  progress(progress: CallProgress): void;
  end(reason: CallEndReason): void;
  /** Ends the call after a last word. */
  wind(reason: CallEndReason, words: string): void;
}

/** Built once for each call. A part may use the others as soon as the constructor is done, not before. */
export class Wiring {
  readonly options: CallOptions;
  readonly notes: CallNotes;
  readonly output: Output;
  readonly verbatim: Verbatim;
  readonly recording: Recording | null;
  readonly words = new SpokenWords();
  readonly hangup = new Hangup();
  readonly quiet = new Quiet();
  /** The same for those who also wait until the caller is silent and nothing is being asked. */
  readonly still = new Quiet();
  readonly silence: SilenceWatch;
  readonly floor: Floor;
  readonly memory: ConversationMemory;
  readonly log: TurnLog;
  readonly hearing: Hearing;
  readonly requests: Requests;
  readonly tools: CallTools;
  readonly interruptions: Interruptions;
  readonly line: CallerLine;
  readonly approvals: CallApprovalFloor;
  readonly session: ModelSide;
  readonly link: ModelLink;
  readonly isFullDuplex: boolean;
  readonly end: CallActions['end'];
  readonly wind: CallActions['wind'];

  constructor(options: CallOptions, actions: CallActions) {
    const { parts, info, id, sessionKey } = options;
    const { config, clock, synthesiser, store, models } = parts;
    this.options = options;
    this.end = actions.end;
    this.wind = actions.wind;
    this.isFullDuplex = models.capabilities.style === 'full-duplex';
    this.notes = new CallNotes(options, (progress) => {
      actions.progress(progress);
      if (progress.type === 'latency') this.line.show(progress);
    });
    this.recording =
      parts.recordingDirectory === null ? null : new Recording(parts.recordingDirectory, id, info.leg);
    this.output = new Output(info.leg, {
      itemStarted: (itemId, playsAt) => {
        this.notes.agentStarts(itemId, playsAt, this.log.current);
        const text = this.verbatim.textOf(itemId);
        if (text !== '')
          this.line.show({ type: 'transcript', role: 'assistant', itemId, text, append: false, final: true });
      },
      itemHeard: (hearing) => {
        this.interruptions.itemEnded(hearing.itemId);
        this.hearing.ended(hearing);
      },
      frame: (frame, playsAt) => this.recording?.agent(frame, this.notes.at(playsAt)),
    });
    this.floor = new Floor(config.interruption);
    this.silence = new SilenceWatch(config.limits.silenceTimeoutS * 1000);
    this.memory = new ConversationMemory(options.history);
    this.verbatim = new Verbatim({ synthesiser, output: this.output, format: info.leg.output, clock });
    this.log = new TurnLog({
      store,
      clock,
      callId: id,
      sessionKey,
      onError: () => this.fault('store_write_failed'),
      onFinal: () => parts.onTurnFinal?.(sessionKey),
    });
    this.hearing = new Hearing(this);
    this.requests = new Requests(this);
    this.tools = new CallTools(this);
    this.interruptions = new Interruptions(this);
    this.approvals = new CallApprovalFloor(this);
    this.line = new CallerLine(this);
    this.session = new ModelSide(this);
    this.link = new ModelLink({
      factory: models,
      clock,
      session: () => sessionConfig(options, [...this.memory.history(), ...this.tools.inFlight()]),
      handlers: this.session.handlers(),
    });
  }

  get ticker() {
    return frameTicker(this.options.parts.clock);
  }

  readonly now = (): number => this.options.parts.clock.now();

  readonly fault = (code: string): void => this.notes.fault(code, this.now());
}
