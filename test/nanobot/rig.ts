/** The real nanobot with our channel in it, a language model, a realtime model, and a person at its page. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { realtimeSection, VoiceModel } from './caller.ts';
import { freePort, NanobotGateway, NanobotHome, processesOf, type SessionRow } from './nanobot.ts';
import { TextModel } from './text-model.ts';
import { WebChat } from './web-chat.ts';

export const NOTE = 'The spare key is under the third flower pot.';

export interface RigOptions {
  /** Of `channels.realtime`. */
  readonly realtime?: Record<string, unknown>;
  /** Of `agents.defaults`. */
  readonly defaults?: Record<string, unknown>;
  /** Of `tools`. */
  readonly tools?: Record<string, unknown>;
  /** Environment of nanobot. */
  readonly env?: Record<string, string>;
  /** What is to be there when it starts. */
  readonly before?: (home: NanobotHome) => void;
  /** Whether the agent has its first turn, which loads much, before this is done. @defaultValue true */
  readonly firstTurn?: boolean;
}

export class NanobotRig {
  readonly voice = new VoiceModel();
  readonly text = new TextModel();
  readonly home = new NanobotHome();
  gateway!: NanobotGateway;
  web!: WebChat;
  /** Where calls are taken. */
  url = '';

  /** Once it takes calls. */
  static async start(options: RigOptions = {}): Promise<NanobotRig> {
    const rig = new NanobotRig();
    try {
      await rig.#start(options);
      return rig;
    } catch (error) {
      await rig.remove();
      throw error;
    }
  }

  async #start(options: RigOptions): Promise<void> {
    const [modelUrl, textUrl] = [await this.voice.fake.listen(), await this.text.listen()];
    const [port, webPort] = [await freePort(), await freePort()];
    const workspace = this.home.workspace;
    this.home.write({
      agents: {
        defaults: {
          workspace,
          provider: 'custom',
          model: 'local',
          dream: { enabled: false },
          ...options.defaults,
        },
      },
      providers: { custom: { apiBase: textUrl, apiKey: 'local-key' } },
      gateway: { port, heartbeat: { enabled: false } },
      tools: { restrictToWorkspace: true, ...options.tools },
      channels: {
        websocket: { enabled: true, port: webPort },
        realtime: realtimeSection(modelUrl, options.realtime ?? {}),
      },
    });
    writeFileSync(join(workspace, 'note.txt'), NOTE);
    options.before?.(this.home);
    this.gateway = new NanobotGateway(this.home, options.env);
    this.url = await this.gateway.listening();
    this.web = await WebChat.open(`http://127.0.0.1:${webPort}`);
    if (options.firstTurn !== false) expect(await this.web.ask('ann', 'hello')).toBe('Done.');
  }

  /** Rows of every session that calls wrote. */
  get spoken(): SessionRow[] {
    return [...this.home.sessions().values()].flat().filter(({ source }) => source === 'voice');
  }

  /** What nanobot said since its output was so long. */
  since(length: number): string {
    return this.gateway.output.slice(length);
  }

  /** Looks until it is so; what another process does can't be waited for otherwise. */
  async until(isThere: () => unknown): Promise<void> {
    for (let tries = 0; !(await isThere()); tries += 1) {
      if (tries > 300)
        throw new Error(
          `It never came:\n${JSON.stringify([...this.home.sessions()])}\n${this.gateway.output}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends nanobot as its user would: nothing of it is left. */
  async stop(): Promise<void> {
    this.web.close();
    expect(await this.gateway.stop()).toBe(0);
    expect(processesOf(this.home.folder)).toEqual([]);
    expect(this.voice.fake.violations).toEqual([]);
    expect(this.text.violations).toEqual([]);
  }

  /** For `afterAll`, whatever happened. */
  async remove(): Promise<void> {
    this.gateway?.child.kill('SIGKILL');
    await this.voice.fake.close();
    await this.text.close();
    this.home.remove();
  }
}
