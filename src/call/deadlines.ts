/**
 * What is looked at as time goes by: that nobody is left with dead air, an endless line, or a line nobody is on.
 *
 * @module
 */

import { FRAME_MS } from '../audio/index.ts';
import type { Filler } from './fillers.ts';
import { ShownStateWatch } from './shown-state.ts';
import type { Wiring } from './wiring.ts';

/** The coarse deadlines are looked at once in so many ticks of 20 ms. */
const COARSE_TICKS = 100 / FRAME_MS;
/** A request held while the caller had the floor is asked for this long after, if the model did not begin itself. */
const FLOOR_RELEASE_MS = 1500;

export class Deadlines {
  readonly #wiring: Wiring;
  readonly #shown = new ShownStateWatch();
  #ticks = 0;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** The caller is on a leg that has been shown nothing. */
  attached(): void {
    this.#shown.reset();
  }

  /** Every 20 ms. */
  tick(now: number): void {
    const { output, line, hangup, approvals } = this.#wiring;
    output.tick(now);
    approvals.tick(now);
    line.tick(now);
    if (this.#ticks++ % COARSE_TICKS === 0 && hangup.phase !== 'ended') this.#coarse(now);
  }

  #coarse(now: number): void {
    const { interruptions, session, floor, requests, tools, log, output, verbatim } = this.#wiring;
    const { link, quiet, still, line, hangup, approvals, end } = this.#wiring;
    interruptions.tick(now);
    session.tick(now);
    const sinceSpeech = now - floor.lastSpeechEndedAt;
    if (!floor.callerSpeaks && sinceSpeech > FLOOR_RELEASE_MS && !interruptions.isOpen) requests.release();
    requests.tick();
    tools.tick(now);
    log.tick(now);
    const silent = output.isIdle(now) && !verbatim.isBusy;
    const state = this.#shown.changed({
      isEnding: hangup.phase !== 'live',
      callerSpeaks: floor.callerSpeaks,
      isAsking: approvals.isAsking,
      agentSpeaks: !output.isIdle(now),
      toolsRun: tools.runningCount > 0,
      isThinking: requests.isBusy || verbatim.isBusy,
    });
    if (state !== null) line.show({ type: 'state', state });
    const free =
      silent && !requests.isBusy && !floor.callerSpeaks && !interruptions.isOpen && !approvals.isAsking;
    link.tick(now, free && tools.runningCount === 0);
    quiet.tick(silent && !requests.isBusy);
    still.tick(free);
    const reason = hangup.tick(now, silent && !requests.isBusy);
    if (reason !== null) {
      end(reason);
      return;
    }
    line.deadlines(now);
    if (hangup.phase === 'live') this.#keepAlive(now, free && !line.isLost);
  }

  #keepAlive(now: number, free: boolean): void {
    const { tools, verbatim, line, silence, session, options, wind } = this.#wiring;
    const { config, prompts } = options.parts;
    const filler = tools.filler(now, free);
    if (filler !== null) void verbatim.fill(wordsOf(filler, prompts));
    if (line.durationMs(now) > config.limits.maxCallS * 1000) {
      wind('max_duration', prompts.maxDuration);
      return;
    }
    const standsStill = !free || tools.runningCount > 0 || !session.hasOpened;
    const verdict = silence.tick(now, standsStill);
    if (verdict === 'ask') void verbatim.speak(prompts.silenceAsk);
    else if (verdict === 'end') wind('silence', prompts.silenceEnd);
  }
}

function wordsOf(filler: Filler, prompts: { filler: readonly string[]; progress: string }): string {
  switch (filler.type) {
    case 'words':
      return prompts.filler[Math.min(filler.index, prompts.filler.length - 1)] ?? '';
    case 'progress':
      return prompts.progress.replace('{progress}', () => filler.text.replace(/[.\s]+$/, ''));
    default:
      return filler satisfies never;
  }
}
