/**
 * What the Agent Plugin may read of the running gateway: calls, the owner's transcripts, what waits for approval. Nothing
 * here decides, dials or changes anything. For this machine alone, with a token of its own.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { Hono } from 'hono';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { ApprovalStore, CallRow, Store } from '../../store/index.ts';
import { isPluginToken } from './plugin-token.ts';

/** Calls, turns and requests in one answer. */
export const MAX_LISTED_CALLS = 50;
export const MAX_TRANSCRIPT_TURNS = 500;
export const MAX_LISTED_APPROVALS = 50;
/** Longest text of one turn in a transcript. */
export const MAX_TURN_CHARS = 4000;
/** Wrong tokens in one minute; then nobody is let in until it is over. */
export const MAX_FAILURES_PER_MINUTE = 30;

export interface PluginApiOptions {
  readonly store: Store & Partial<Pick<ApprovalStore, 'listApprovals'>>;
  readonly clock: Clock;
  /** Where the plugin keeps its token. */
  readonly directory: string;
  /** Session of the person whose agent asks: `realtime:` and the owner's id. */
  readonly ownerSession: string;
}

/** What `@hono/node-server` hands on with a request. */
type Env = { Bindings: { incoming: IncomingMessage } };

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const cut = (text: string | null) => text?.slice(0, MAX_TURN_CHARS) ?? null;

export class PluginApi {
  readonly #options: PluginApiOptions;
  #failures: number[] = [];

  constructor(options: PluginApiOptions) {
    this.#options = options;
  }

  routes(): Hono {
    const app = new Hono();
    app.use('/plugin/api/*', async (c, next) => {
      const { incoming } = c.env as Env['Bindings'];
      const { remoteAddress } = incoming.socket;
      // Behind a proxy everybody looks like this machine: what was handed on is not for us.
      const isHandedOn = ['x-forwarded-for', 'forwarded', 'via'].some((name) => c.req.header(name));
      if (!isLoopback(remoteAddress) || isHandedOn) throw notFound();
      await this.#checkToken(c.req.header('authorization') ?? '');
      await next();
    });
    app.get('/plugin/api/calls', async (c) => {
      const calls = await this.#options.store.listCalls({ limit: limitOf(c.req.query('limit')) });
      return c.json({ calls: calls.map((call) => this.#shown(call)) });
    });
    app.get('/plugin/api/calls/:id/transcript', async (c) =>
      c.json(await this.#transcript(c.req.param('id'))),
    );
    app.get('/plugin/api/approvals', async (c) => c.json({ waiting: await this.#waiting() }));
    return app;
  }

  async #checkToken(header: string): Promise<void> {
    const now = this.#options.clock.now();
    this.#failures = this.#failures.filter((at) => at > now - 60_000);
    const token = /^Bearer (\S{1,200})$/.exec(header)?.[1];
    const isLocked = this.#failures.length >= MAX_FAILURES_PER_MINUTE;
    if (!isLocked && token !== undefined && (await isPluginToken(this.#options.directory, token))) return;
    if (!isLocked) this.#failures.push(now);
    throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'This is for the Agent Plugin of this gateway.');
  }

  #isOwners({ identityStrength, sessionKey }: CallRow): boolean {
    return identityStrength === 'authenticated' && sessionKey === this.#options.ownerSession;
  }

  /** No numbers and no names: who called is the owner or somebody else. */
  #shown(call: CallRow) {
    return {
      id: call.id,
      startedAt: iso(call.startedAt),
      endedAt: iso(call.endedAt),
      endReason: call.endReason,
      carrier: call.carrier,
      caller: this.#isOwners(call) ? 'owner' : 'other',
      live: call.endedAt === null,
    };
  }

  async #transcript(id: string) {
    const { store } = this.#options;
    const call = await store.getCall(id);
    // Another person's call is as one that there is not.
    if (!call || !this.#isOwners(call))
      throw new VoiceError('CALL_NOT_FOUND', 'The owner has no call of this id.');
    const turns = await store.listTurns(call.sessionKey, MAX_TRANSCRIPT_TURNS);
    return {
      call: this.#shown(call),
      turns: turns
        .filter((turn) => turn.callId === id)
        .map((turn) => ({
          at: iso(turn.startedAt),
          caller: cut(turn.userText),
          tools: turn.tools.map(({ name, isError }) => ({ name, failed: isError })),
          agent: cut(turn.assistantText),
        })),
    };
  }

  async #waiting() {
    const { store } = this.#options;
    const rows = await store.listApprovals?.({ status: ['pending'], limit: MAX_LISTED_APPROVALS });
    return (rows ?? []).map(({ id, tool, summary, mode, createdAt, expiresAt }) => ({
      id,
      tool,
      summary,
      mode,
      createdAt: iso(createdAt),
      expiresAt: iso(expiresAt),
    }));
  }
}

const notFound = () => new VoiceError('ROUTE_NOT_FOUND', 'There is nothing at this address.');

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::ffff:)?127\.|^::1$/.test(address);
}

function limitOf(text: string | undefined): number {
  const limit = Number(text ?? '20');
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, MAX_LISTED_CALLS) : 20;
}
