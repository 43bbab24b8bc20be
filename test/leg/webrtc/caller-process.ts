import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CallersCommand, CallersReply } from './callers.ts';

/** The test's end of `callers.ts`. */
export class CallerProcess {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('./callers.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });

  ask<Type extends CallersReply['type']>(
    command: CallersCommand,
    type: Type,
  ): Promise<Extract<CallersReply, { type: Type }>> {
    return new Promise((resolve, reject) => {
      this.#child.once('exit', () => reject(new Error('The callers are gone.')));
      this.#child.once('message', (reply: CallersReply) => {
        this.#child.removeAllListeners('exit');
        if (reply.type === type) resolve(reply as Extract<CallersReply, { type: Type }>);
        else reject(new Error(`The callers said "${reply.type}".`));
      });
      this.#child.send(command);
    });
  }

  close(): void {
    this.#child.kill();
  }
}
