/** Callers in a process of their own, so that what our process holds and does can be measured alone. Spoken to over IPC. */

import { concatSamples } from '../../../src/audio/index.ts';
import { sine, toneLevelDb } from '../../audio/signals.ts';
import { WeriftPeer } from './werift-peer.ts';

export type CallersCommand =
  | { readonly type: 'open'; readonly count: number }
  | { readonly type: 'accept'; readonly answers: readonly string[] }
  /** Each says its tone for so long; then each tells how loud it heard each of `listenFor`, in dB. */
  | {
      readonly type: 'talk';
      readonly ms: number;
      readonly tones: readonly number[];
      readonly listenFor: readonly number[];
    }
  | { readonly type: 'close' };

export type CallersReply =
  | { readonly type: 'opened'; readonly offers: string[] }
  | { readonly type: 'accepted' }
  | { readonly type: 'talked'; readonly levels: number[][] }
  | { readonly type: 'closed' };

let callers: WeriftPeer[] = [];

async function run(command: CallersCommand): Promise<CallersReply> {
  switch (command.type) {
    case 'open': {
      callers = Array.from({ length: command.count }, () => new WeriftPeer({ complexity: 0 }));
      return { type: 'opened', offers: await Promise.all(callers.map((caller) => caller.offer())) };
    }
    case 'accept': {
      await Promise.all(callers.map((caller, n) => caller.accept(command.answers[n] ?? '')));
      await Promise.all(callers.map((caller) => caller.whenConnected()));
      return { type: 'accepted' };
    }
    case 'talk': {
      const tones = command.tones.map((hz) => sine(hz, 24_000, 1));
      for (const caller of callers) caller.heard.length = 0;
      const startedAt = performance.now();
      let n = 0;
      while (n * 20 < command.ms) {
        // Never more than there is to say: a machine that can't keep up must still come to an end.
        for (; n * 20 <= performance.now() - startedAt && n * 20 < command.ms; n += 1) {
          const at = (n % 50) * 480;
          for (const [index, caller] of callers.entries()) {
            const tone = tones[index];
            if (tone) caller.speak(tone.slice(at, at + 480));
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      for (let left = 100; left > 0; left -= 1) {
        if (callers.every((caller) => caller.heard.length >= (command.ms / 20) * 0.8)) break;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const levels = callers.map((caller) => {
        const samples = caller.heardSamples();
        const middle = concatSamples([samples]).subarray(
          Math.max(0, samples.length - 28_800),
          samples.length - 4800,
        );
        return command.listenFor.map((hz) => Math.round(toneLevelDb(middle, hz, 24_000)));
      });
      return { type: 'talked', levels };
    }
    case 'close':
      await Promise.all(callers.map((caller) => caller.close()));
      callers = [];
      return { type: 'closed' };
    default:
      return command satisfies never;
  }
}

process.on('message', (command: CallersCommand) => {
  void run(command).then((reply) => process.send?.(reply));
});
