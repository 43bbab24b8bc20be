/**
 * The operator's interface to calls: those of now and before, each with its turns and its record.
 *
 * @module
 */

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { CallRow, Store, TurnRow } from '../../store/index.ts';
import type { WorkerSlot } from '../../worker-slot.ts';
import type { Desk } from '../desk.ts';
import type { OperatorLogin } from '../pages/operator-login.ts';
import { CALL_ID, type CallRecords } from './call-records.ts';
import { type CallLatencies, latencyFigures } from './latency.ts';

/** Calls of one answer at most. */
export const MAX_LISTED = 200;
/** Turns of a session that are looked through for those of one call. */
const MAX_TURNS = 2000;

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_LISTED).default(50),
  before: z.coerce.number().int().min(0).optional(),
  live: z.literal('1').optional(),
});
const hoursQuery = z.coerce.number().min(1).max(8760).default(24);

export interface CallRoutesOptions {
  readonly login: OperatorLogin;
  readonly store: Pick<Store, 'listCalls' | 'getCall' | 'listTurns'>;
  readonly records: CallRecords;
  /** Folder with recordings; `null` where none are kept. */
  readonly recordings: string | null;
  readonly desk: Desk;
  readonly clock: Clock;
  /** One worker of several: a call may be another's. */
  readonly slot?: WorkerSlot | null;
}

export function callRoutes(options: CallRoutesOptions): Hono {
  const { login, store, records, desk, clock, slot = null } = options;
  const app = new Hono();

  app.get('/operator/api/calls', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const query = listQuery.safeParse(c.req.query()).data;
    if (!query) throw new VoiceError('REQUEST_INVALID', 'limit, before and live are numbers.');
    const { limit, before, live } = query;
    await records.refresh();
    const rows = await store.listCalls({
      limit,
      ...(before !== undefined && { before }),
      ...(live !== undefined && { live: true }),
    });
    const last = rows.length === limit ? rows.at(-1) : undefined;
    const calls = await Promise.all(rows.map((row) => callView(row, options)));
    return c.json({ calls, next: last?.startedAt ?? null });
  });

  app.get('/operator/api/calls/:id', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const row = await find(c, store);
    await records.refresh();
    const turns = (await store.listTurns(row.sessionKey, MAX_TURNS)).filter(
      ({ callId }) => callId === row.id,
    );
    const call = await callView(row, options);
    return c.json({
      call,
      turns: turns.map(turnView),
      record: await records.get(row.id),
      audio: call.hasAudio,
    });
  });

  app.get('/operator/api/calls/:id/audio', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const { id } = await find(c, store);
    const path = audioPath(id, options);
    if (path === null) throw notFound();
    return audio(c, path);
  });

  app.post('/operator/api/calls/:id/hangup', async (c) => {
    await login.who(c.req.raw.headers, 'write');
    const callId = c.req.param('id');
    const call = desk.call(callId);
    call?.end('agent_hangup');
    const isElsewhere =
      !call && (await slot?.askOthers<'hang_up'>({ kind: 'hang_up', callId }))?.includes(true);
    if (!call && !isElsewhere) throw notFound();
    return c.body(null, 202);
  });

  app.delete('/operator/api/calls/:id/record', async (c) => {
    await login.who(c.req.raw.headers, 'write');
    await records.refresh();
    if (!(await records.remove(c.req.param('id')))) throw notFound();
    return c.body(null, 204);
  });

  app.get('/operator/api/latency', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const hours = hoursQuery.safeParse(c.req.query('hours')).data;
    if (hours === undefined) throw new VoiceError('REQUEST_INVALID', 'hours is a number from 1 to 8760.');
    await records.refresh();
    const since = clock.wallNow() - hours * 3_600_000;
    const recent = [...records.latencies()].filter(({ startedAt }) => startedAt >= since);
    const carriers = Map.groupBy(recent, ({ carrier }: CallLatencies) => carrier);
    const byCarrier = Object.fromEntries([...carriers].map(([name, calls]) => [name, latencyFigures(calls)]));
    return c.json({ since, turns: latencyFigures(recent), byCarrier });
  });
  return app;
}

const notFound = () => new VoiceError('CALL_NOT_FOUND', 'There is no such call, or nothing of it is kept.');

async function find(c: Context, store: CallRoutesOptions['store']): Promise<CallRow> {
  const id = c.req.param('id') ?? '';
  const row = CALL_ID.test(id) ? await store.getCall(id) : null;
  if (!row) throw notFound();
  return row;
}

/** Never who called: no number, no chat. */
async function callView(row: CallRow, options: CallRoutesOptions) {
  const { id, carrier, provider, startedAt, endedAt, endReason } = row;
  const path = endedAt === null ? null : audioPath(id, options);
  return {
    id,
    carrier,
    provider,
    identity: row.identityStrength,
    startedAt,
    endedAt,
    endReason,
    hasRecord: options.records.has(id),
    hasAudio: path !== null && (await sizeOf(path)) > 0,
  };
}

function turnView({ turn, startedAt, userText, assistantText, tools, finalAt }: TurnRow) {
  return { turn, startedAt, userText, assistantText, tools, final: finalAt !== null };
}

function audioPath(id: string, { recordings }: CallRoutesOptions): string | null {
  return recordings === null || !CALL_ID.test(id) ? null : join(recordings, id, 'call.wav');
}

async function sizeOf(path: string): Promise<number> {
  try {
    const file = await open(path, 'r');
    try {
      return (await file.stat()).size;
    } finally {
      await file.close();
    }
  } catch {
    return 0;
  }
}

/** With one range, because a player jumps. */
async function audio(c: Context, path: string): Promise<Response> {
  const file = await open(path, 'r').catch(() => {
    throw notFound();
  });
  const { size } = await file.stat();
  const range = /^bytes=(\d*)-(\d*)$/.exec(c.req.raw.headers.get('range') ?? '');
  const headers = { 'content-type': 'audio/wav', 'accept-ranges': 'bytes' };
  const body = (start: number, end: number) => {
    if (end < start) {
      void file.close();
      return null;
    }
    // The stream closes the file, at its end or when the client goes.
    return Readable.toWeb(file.createReadStream({ start, end })) as ReadableStream<Uint8Array>;
  };
  if (!range || (range[1] === '' && range[2] === ''))
    return new Response(body(0, size - 1), { headers: { ...headers, 'content-length': String(size) } });
  const [, from = '', to = ''] = range;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (start > end || start >= size) {
    await file.close();
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } });
  }
  return new Response(body(start, end), {
    status: 206,
    headers: {
      ...headers,
      'content-length': String(end - start + 1),
      'content-range': `bytes ${start}-${end}/${size}`,
    },
  });
}
